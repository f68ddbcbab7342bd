// Who may do what: the kernel's answer under the caller's identity.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "posix_fixture.h"

namespace braid::vfs {
namespace {

constexpr std::uint32_t R = AccessBits::read, L = AccessBits::lookup, M = AccessBits::modify,
                        E = AccessBits::extend, D = AccessBits::remove, X = AccessBits::execute,
                        every_access = 0x3f;

class PermissionTest : public PosixTest {
 protected:
  std::uint32_t access(const FileRef& file, const Credentials& who, std::uint32_t wanted = every_access) {
    std::optional<Attributes> now;
    const std::uint32_t allowed = run(fs_->access(who, file, wanted, now)).value();
    EXPECT_TRUE(now && now->change == run(fs_->getattr(file))->change);
    return allowed;
  }
  FileRef file_with(std::uint32_t mode, std::uint32_t uid = 1001, std::uint32_t gid = 2001) {
    local_write("file", "text");
    EXPECT_EQ(::chown(local("file").c_str(), uid, gid), 0);
    EXPECT_EQ(::chmod(local("file").c_str(), mode), 0);
    return find("file");
  }

  const Credentials owner_ = user(1001, 1);
  const Credentials member_ = user(1002, 2001);
  const Credentials supplementary_ = user(1003, 1, {7, 8, 2001});
  const Credentials other_ = user(1004, 1, {7, 8});
};
BRAID_ON_EVERY_FILE_SYSTEM(PermissionTest);

TEST_P(PermissionTest, access_follows_user_group_and_other_bits) {
  for (const std::uint32_t mode :
       {0000U, 0400U, 0040U, 0004U, 0200U, 0020U, 0002U, 0100U, 0010U, 0001U, 0754U, 0137U}) {
    const FileRef file = file_with(mode);
    const auto expected = [&](std::uint32_t bits) {
      return ((bits & 4) != 0 ? R : 0) | ((bits & 2) != 0 ? M | E : 0) | ((bits & 1) != 0 ? X : 0);
    };
    EXPECT_EQ(access(file, owner_), expected(mode >> 6 & 7)) << std::oct << mode;
    EXPECT_EQ(access(file, member_), expected(mode >> 3 & 7)) << std::oct << mode;
    EXPECT_EQ(access(file, supplementary_), expected(mode >> 3 & 7)) << std::oct << mode;
    EXPECT_EQ(access(file, other_), expected(mode & 7)) << std::oct << mode;
  }
}

TEST_P(PermissionTest, a_directory_has_names_instead_of_bytes) {
  ASSERT_EQ(::mkdir(local("dir").c_str(), 0), 0);
  ASSERT_EQ(::chown(local("dir").c_str(), 1001, 2001), 0);
  const FileRef dir = find("dir");
  const auto with_mode = [&](std::uint32_t mode) {
    EXPECT_EQ(::chmod(local("dir").c_str(), mode), 0);
    return access(dir, owner_);
  };
  EXPECT_EQ(with_mode(0700), R | L | M | E | D);
  EXPECT_EQ(with_mode(0500), R | L);
  EXPECT_EQ(with_mode(0400), R);
  EXPECT_EQ(with_mode(0100), L);
  EXPECT_EQ(with_mode(0200), 0U) << "changing names takes searching too";
  EXPECT_EQ(with_mode(0300), L | M | E | D);
}

TEST_P(PermissionTest, access_answers_what_was_asked) {
  const FileRef file = file_with(0777);
  EXPECT_EQ(access(file, owner_, R), R);
  EXPECT_EQ(access(file, owner_, M | X), M | X);
  EXPECT_EQ(access(file, owner_, L | D), 0U);
  EXPECT_EQ(access(file, owner_, 0), 0U);
}

TEST_P(PermissionTest, root_may_everything_that_makes_sense) {
  EXPECT_EQ(access(file_with(0000), user(0)), R | M | E);
  EXPECT_EQ(access(file_with(0001), user(0)), R | M | E | X);
  EXPECT_EQ(access(root_, user(0)), R | L | M | E | D);
}

TEST_P(PermissionTest, a_read_only_export_grants_no_changes) {
  file_with(0777);
  options_.tree.read_only = true;
  restart();
  EXPECT_EQ(access(find("file"), owner_), R | X);
  EXPECT_EQ(access(root_, user(0)), R | L);
}

TEST_P(PermissionTest, reading_takes_read_or_execute_permission) {
  const FileRef file = file_with(0040);
  EXPECT_EQ(read(file, 0, 10, member_), "text");
  EXPECT_EQ(read(file, 0, 10, supplementary_), "text");
  EXPECT_EQ(read(file, 0, 10, other_).error(), Error::acces);
  file_with(0001);
  EXPECT_EQ(read(file, 0, 10, other_), "text");
  EXPECT_EQ(read(file, 0, 10, member_).error(), Error::acces);
}

TEST_P(PermissionTest, writing_takes_write_permission) {
  const FileRef file = file_with(0420);
  EXPECT_TRUE(write(file, "x", 0, member_));
  EXPECT_EQ(write(file, "x", 0, other_).error(), Error::acces);
  EXPECT_EQ(commit(file, other_).error(), Error::acces);
}

TEST_P(PermissionTest, the_owner_always_may) {
  const FileRef file = file_with(0000);
  EXPECT_TRUE(write(file, "mine", 0, owner_));
  EXPECT_EQ(read(file, 0, 10, owner_), "mine");
}

TEST_P(PermissionTest, a_permission_taken_away_is_gone_in_the_next_call) {
  const FileRef file = file_with(0666);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(write(file, "x", 0, other_));
    EXPECT_TRUE(read(file, 0, 1, other_));
    ASSERT_EQ(::chmod(local("file").c_str(), 0600), 0);
    EXPECT_EQ(write(file, "x", 0, other_).error(), Error::acces);
    EXPECT_EQ(read(file, 0, 1, other_).error(), Error::acces);
    EXPECT_EQ(access(file, other_), 0U);
    ASSERT_EQ(::chmod(local("file").c_str(), 0666), 0);
  }
}

TEST_P(PermissionTest, searching_is_checked_in_every_lookup) {
  const FileRef dir = mkdir("dir", 0711)->file;
  local_write("dir/file", "x");
  EXPECT_TRUE(lookup(dir, "file", other_));
  EXPECT_TRUE(lookup(dir, "..", other_));
  ASSERT_EQ(::chmod(local("dir").c_str(), 0744), 0);
  EXPECT_EQ(lookup(dir, "file", other_).error(), Error::acces);
  EXPECT_EQ(lookup(dir, "missing", other_).error(), Error::acces) << "what is there is not told";
  EXPECT_EQ(lookup(dir, "..", other_).error(), Error::acces);
}

TEST_P(PermissionTest, threads_act_for_different_callers_at_the_same_time) {
  ASSERT_EQ(::chmod(local().c_str(), 0777), 0);
  options_.tree.sync = false;
  restart();
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (std::uint32_t i = 0; i < 200; ++i) {
          const Credentials who = user(3000 + t, 4000 + t + i % 3, {5000 + i % 2});
          Wcc wcc;
          const CreateHow how{CreateHow::Mode::guarded, with_mode(0600), {}};
          const std::string name = "f" + std::to_string(t) + "-" + std::to_string(i);
          const auto made = run(fs_->create(who, root_, name, how, wcc));
          if (!made || made->attributes.uid != who.uid || made->attributes.gid != who.gid) ++wrong;
          if (::syscall(SYS_setfsuid, -1) != 0) ++wrong;
        }
      });
  }
  EXPECT_EQ(wrong, 0);
}

TEST_P(PermissionTest, a_user_that_the_kernel_does_not_know_may_nothing) {
  ASSERT_EQ(::chmod(local().c_str(), 0777), 0);
  EXPECT_EQ(create("file", 0644, user(0xffffffff, 1)).error(), Error::acces);
  EXPECT_EQ(create("file", 0644, user(1001, 0xffffffff)).error(), Error::acces);
  EXPECT_EQ(::syscall(SYS_setfsuid, -1), 0);
}

}  // namespace
}  // namespace braid::vfs
