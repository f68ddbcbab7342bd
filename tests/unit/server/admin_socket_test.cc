#include "server/admin/admin_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "server/admin/admin_command.h"
#include "server/cli/admin_client.h"

namespace braid::server::admin {
namespace {

using testing::HasSubstr;

// `seen`: the request as commands see it.
std::string answer(std::string_view line, AdminRequest* seen = nullptr) {
  const auto note = [seen](const AdminRequest& request) -> io::Op<std::string> {
    if (seen != nullptr) *seen = request;
    return R"({"version":"1"})";
  };
  const std::vector<AdminCommand> commands{{{"status", ""}, note}, {{"opens", ""}, note}};
  auto op = admin_answer(line, commands);
  op.start({});
  return op.result().value_or("");
}

TEST(AdminAnswer, a_command_is_answered_with_what_it_says) {
  EXPECT_EQ(answer("{\"command\":\"status\"}\n"), "{\"version\":\"1\"}\n");
  AdminRequest seen;
  EXPECT_EQ(answer("{\"command\":\"status\"}\r\nrest", &seen), "{\"version\":\"1\"}\n");
  EXPECT_EQ(seen.client, std::nullopt);
  EXPECT_EQ(seen.from, "");
  EXPECT_EQ(answer(R"({"command":"opens","client":"0x500000001","from":"17"})"
                   "\n",
                   &seen),
            "{\"version\":\"1\"}\n");
  EXPECT_EQ(seen.command, "opens");
  EXPECT_EQ(seen.client, 0x500000001);
  EXPECT_EQ(seen.from, "17");
}

TEST(AdminAnswer, what_is_no_known_request_is_refused) {
  EXPECT_EQ(answer("{\"command\":\"reboot\"}\n"), "{\"error\":\"unknown command; known: status opens\"}\n");
  EXPECT_EQ(answer("{}\n"), "{\"error\":\"the request has no \\\"command\\\"\"}\n");
  EXPECT_EQ(answer("{\"command\":7}\n"), "{\"error\":\"the request has no \\\"command\\\"\"}\n");
  EXPECT_EQ(answer("[1,2]\n"), "{\"error\":\"the request is no JSON object\"}\n");
  EXPECT_EQ(answer("status\n"), "{\"error\":\"the request is no JSON object\"}\n");
  EXPECT_EQ(answer("\n"), "{\"error\":\"the request is no JSON object\"}\n");
  EXPECT_EQ(answer(std::string(3, '\xff') + "\n"), "{\"error\":\"the request is no JSON object\"}\n");
  EXPECT_EQ(answer(std::string(4000, '[') + "\n"), "{\"error\":\"the request is no JSON object\"}\n");
  for (const char* client : {"7", "\"0x\"", "\"one\"", "\"\"", "null", "\"0x1ffffffffffffffff\""})
    EXPECT_THAT(answer(fmt::format("{{\"command\":\"opens\",\"client\":{}}}\n", client)),
                HasSubstr("is no client's id"))
        << client;
  EXPECT_THAT(answer("{\"command\":\"opens\",\"from\":7}\n"), HasSubstr("is no text"));
}

TEST(ClientId, is_hexadecimal_with_a_prefix_or_decimal) {
  EXPECT_EQ(parse_client("0x500000001"), 0x500000001);
  EXPECT_EQ(parse_client("17"), 17);
  for (const char* wrong : {"", "0x", "5g", "-1", " 1", "99999999999999999999"})
    EXPECT_EQ(parse_client(wrong), std::nullopt) << wrong;
}

TEST(AdminAnswer, a_line_that_does_not_end_is_refused) {
  EXPECT_EQ(answer("{\"command\":\"status\"}"),
            "{\"error\":\"the request is no line of at most 4096 bytes\"}\n");
}

class AdminSocketTest : public testing::Test {
 protected:
  AdminSocketTest() : path_(testing::TempDir() + "admin_test." + std::to_string(::getpid()) + ".sock") {}
  ~AdminSocketTest() override { ::unlink(path_.c_str()); }
  [[nodiscard]] bool exists() const { return ::access(path_.c_str(), F_OK) == 0; }
  const std::string path_;
};

TEST_F(AdminSocketTest, the_file_is_private_and_goes_with_its_owner) {
  {
    const auto socket = AdminSocket::create(path_);
    ASSERT_TRUE(socket.has_value()) << socket.error();
    struct stat found{};
    ASSERT_EQ(::stat(path_.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777u, 0600u);
    EXPECT_TRUE(connect_admin(path_).has_value());
  }
  EXPECT_FALSE(exists());
}

TEST_F(AdminSocketTest, a_file_left_by_a_dead_server_is_replaced) {
  {
    auto dead = AdminSocket::create(path_);
    ASSERT_TRUE(dead.has_value());
    dead->take_listener().reset();
    ASSERT_EQ(::rename(path_.c_str(), (path_ + ".kept").c_str()), 0);
  }
  ASSERT_EQ(::rename((path_ + ".kept").c_str(), path_.c_str()), 0);
  EXPECT_FALSE(connect_admin(path_).has_value());
  EXPECT_TRUE(AdminSocket::create(path_).has_value());
}

TEST_F(AdminSocketTest, the_socket_of_a_running_server_is_left_alone) {
  const auto first = AdminSocket::create(path_);
  ASSERT_TRUE(first.has_value());
  const auto second = AdminSocket::create(path_);
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error(), HasSubstr("another server answers on the admin socket"));
  EXPECT_TRUE(connect_admin(path_).has_value());
}

// The server that was killed had this one's path.
TEST_F(AdminSocketTest, a_link_that_leads_to_the_server_itself_is_kept) {
  const std::string link = path_ + ".link";
  const auto socket = AdminSocket::create(path_);
  ASSERT_TRUE(socket) << socket.error();
  ASSERT_EQ(::symlink(path_.c_str(), link.c_str()), 0);
  {
    const auto kept = AdminLink::create(link, path_);
    ASSERT_TRUE(kept) << "nobody answers there yet";
    EXPECT_TRUE(connect_admin(link).has_value());
  }
  EXPECT_NE(::access(link.c_str(), F_OK), 0) << "it goes with the server";
}

TEST_F(AdminSocketTest, a_server_that_does_not_answer_is_not_waited_for_for_ever) {
  const auto silent = AdminSocket::create(path_);
  ASSERT_TRUE(silent) << silent.error();
  const cli::ServerChoice choice{
      .admin_socket = path_, .port = {}, .patience = std::chrono::milliseconds(50)};
  EXPECT_EQ(cli::ask_server(choice, R"({"command":"status"})").error(),
            "the server runs, but has not answered for 0.05 seconds");
}

TEST_F(AdminSocketTest, a_signal_does_not_end_the_wait_for_an_answer) {
  auto socket = AdminSocket::create(path_);
  ASSERT_TRUE(socket) << socket.error();
  static std::atomic<int> caught;
  caught = 0;
  struct sigaction counting{};
  counting.sa_handler = [](int) { ++caught; };
  counting.sa_flags = SA_RESTART;
  struct sigaction before{};
  ASSERT_EQ(::sigaction(SIGUSR1, &counting, &before), 0);
  const base::UniqueFd listener = socket->take_listener();
  std::jthread server([&listener, asking = ::pthread_self()] {
    pollfd asked{.fd = listener.get(), .events = POLLIN, .revents = 0};
    ::poll(&asked, 1, -1);
    const base::UniqueFd connection(::accept(listener.get(), nullptr, nullptr));
    char first = 0;
    EXPECT_EQ(::recv(connection.get(), &first, 1, 0), 1);
    for (int sent = 1; sent <= 20; ++sent) {
      ::pthread_kill(asking, SIGUSR1);
      while (caught < sent) std::this_thread::yield();
    }
    EXPECT_EQ(::send(connection.get(), "{}\n", 3, MSG_NOSIGNAL), 3);
  });
  const auto got = cli::ask_server({.admin_socket = path_, .port = {}}, R"({"command":"status"})");
  server.join();
  ::sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(got.value_or(got ? "" : got.error()), "{}\n");
}

TEST_F(AdminSocketTest, a_file_that_is_no_socket_is_not_replaced) {
  std::ofstream(path_) << "precious";
  const auto socket = AdminSocket::create(path_);
  ASSERT_FALSE(socket.has_value());
  EXPECT_THAT(socket.error(), HasSubstr("is no socket"));
  EXPECT_TRUE(exists());
}

TEST_F(AdminSocketTest, a_path_beyond_the_limit_of_unix_sockets_is_an_error) {
  const auto socket = AdminSocket::create("/tmp/" + std::string(200, 'a'));
  ASSERT_FALSE(socket.has_value());
  EXPECT_THAT(socket.error(), HasSubstr("too long (205 bytes, at most 107)"));
}

}  // namespace
}  // namespace braid::server::admin
