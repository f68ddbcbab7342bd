#include "server/run/notify.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>

namespace braid::server::run {
namespace {

// A service manager's socket at `name` ('@': abstract).
class Manager {
 public:
  explicit Manager(const std::string& name) : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, name.size());
    if (name.front() == '@') address.sun_path[0] = '\0';
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), bytes), 0);
  }
  std::string next() {
    char text[256];
    const ssize_t got = ::recv(socket_.get(), text, sizeof text, MSG_DONTWAIT);
    return got < 0 ? "nothing" : std::string(text, static_cast<std::size_t>(got));
  }

 private:
  base::UniqueFd socket_;
};

TEST(Notifier, the_manager_is_told_each_state) {
  for (const std::string& name : {testing::TempDir() + "notify." + std::to_string(::getpid()),
                                  "@braid-notify-test-" + std::to_string(::getpid())}) {
    Manager manager(name);
    const Notifier notifier(name);
    notifier.ready("serving on port 2049");
    EXPECT_EQ(manager.next(), "READY=1\nSTATUS=serving on port 2049");
    notifier.reloading(base::TimePoint(std::chrono::microseconds(77)));
    EXPECT_EQ(manager.next(), "RELOADING=1\nMONOTONIC_USEC=77");
    notifier.stopping();
    EXPECT_EQ(manager.next(), "STOPPING=1");
    ::unlink(name.c_str());
  }
}

int open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<int>(std::distance(begin(all), end(all)));
}

// systemd-run without Type=notify, a shell: nobody listens, and nothing is opened for nobody.
TEST(Notifier, without_a_manager_no_socket_is_made) {
  const int before = open_descriptors();
  const Notifier notifier("");
  notifier.ready("x");
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Notifier, a_name_that_no_socket_can_have_is_told_nothing) {
  const int before = open_descriptors();
  const Notifier notifier("/" + std::string(sizeof(sockaddr_un::sun_path), 'x'));
  notifier.ready("x");
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Notifier, a_manager_that_went_away_and_came_back_is_told_again) {
  const std::string name = testing::TempDir() + "notify-again." + std::to_string(::getpid());
  const Notifier notifier(name);
  notifier.ready("nobody hears this");
  Manager manager(name);
  notifier.stopping();
  EXPECT_EQ(manager.next(), "STOPPING=1");
  EXPECT_EQ(manager.next(), "nothing");
  ::unlink(name.c_str());
}

}  // namespace
}  // namespace braid::server::run
