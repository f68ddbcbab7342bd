#include "sandbox.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>

namespace braid::vfs {
namespace {

// Before any thread is started: mounts made here end with the process.
class Namespace final : public testing::Environment {
 public:
  void SetUp() override {
    ::umask(0);
    if (::geteuid() != 0) return;
    separate_ =
        ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  }
  static bool separate() { return separate_; }

 private:
  static inline bool separate_ = false;
};
const auto* const environment = testing::AddGlobalTestEnvironment(new Namespace);

std::string new_directory() {
  std::string pattern = testing::TempDir() + "/vfs-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return {};
  ::chmod(pattern.c_str(), 0755);
  return pattern;
}

base::Result<std::string, std::string> mount_image(std::string_view kind) {
  const std::map<std::string_view, std::string> makers = {
      {"ext4", "mkfs.ext4 -q -F"}, {"xfs", "mkfs.xfs -q -f"}, {"btrfs", "mkfs.btrfs -q -f"}};
  const std::string directory = new_directory();
  const std::string image = directory + ".img";
  const std::string quiet = " >/dev/null 2>&1";
  const std::string make = "truncate -s 400M " + image + " && " + makers.at(kind) + " " + image + quiet;
  if (::system(make.c_str()) != 0) return base::fail("mkfs." + std::string(kind) + " does not work here");
  const bool mounted = ::system(("mount -o loop " + image + " " + directory + quiet).c_str()) == 0;
  // The loop device keeps the image alive until the namespace ends.
  std::filesystem::remove(image);
  if (!mounted) return base::fail(std::string(kind) + " cannot be mounted here");
  ::chmod(directory.c_str(), 0755);
  return directory;
}

base::Result<std::string, std::string> mount_kind(std::string_view kind) {
  if (kind == "tmpfs") return mount_tmpfs("size=512m");
  if (!Namespace::separate()) return base::fail("mounting needs root");
  return mount_image(kind);
}

}  // namespace

const std::vector<std::string>& file_system_kinds() {
  static const std::vector<std::string> kinds = {"tmpfs", "ext4", "xfs", "btrfs"};
  return kinds;
}

base::Result<std::string, std::string> mounted(std::string_view kind) {
  static std::map<std::string, base::Result<std::string, std::string>, std::less<>> mounts;
  auto found = mounts.find(kind);
  if (found == mounts.end()) found = mounts.emplace(std::string(kind), mount_kind(kind)).first;
  return found->second;
}

base::Result<std::string, std::string> mount_tmpfs(const std::string& options) {
  if (!Namespace::separate()) return base::fail(std::string("mounting needs root"));
  const std::string directory = new_directory();
  if (::mount("tmpfs", directory.c_str(), "tmpfs", 0, (options + ",mode=755").c_str()) != 0)
    return base::fail(std::string("tmpfs cannot be mounted here"));
  return directory;
}

testing::AssertionResult holds_as_user(unsigned uid, unsigned gid, void (*body)(void*), void* argument) {
  constexpr int failed = 1;
  constexpr int no_such_user = 3;
  // What is still to be printed is printed once.
  ::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 &&
        (::setgroups(0, nullptr) != 0 || ::setresgid(gid, gid, gid) != 0 || ::setresuid(uid, uid, uid) != 0))
      ::_exit(no_such_user);
    // What is thrown here must not reach the test runner, which would go on with the other tests in this
    // process.
    [&]() noexcept { body(argument); }();
    ::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? failed : 0);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child)
    return testing::AssertionFailure() << "no child process: " << ::strerror(errno);
  if (WIFSIGNALED(status))
    return testing::AssertionFailure() << "the child process ended by " << ::strsignal(WTERMSIG(status));
  if (WEXITSTATUS(status) == no_such_user)
    return testing::AssertionFailure() << "the child process cannot become user " << uid;
  if (WEXITSTATUS(status) != 0) return testing::AssertionFailure() << "the child process printed what failed";
  return testing::AssertionSuccess();
}

}  // namespace braid::vfs
