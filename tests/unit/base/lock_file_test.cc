#include "base/lock_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace braid::base {
namespace {

class LockFileTest : public testing::Test {
 protected:
  LockFileTest() : path_(::testing::TempDir() + "lock_file_" + std::to_string(::getpid())) {}
  ~LockFileTest() override { std::filesystem::remove_all(path_); }
  Result<LockFile> take(std::string_view who, const LockFile::Wait& wait = {}) {
    return LockFile::take(AT_FDCWD, path_, who, wait, holder_);
  }

  const std::string path_;
  std::string holder_;
};

TEST_F(LockFileTest, who_comes_second_learns_who_was_first) {
  const auto first = take("the first, with a long name");
  ASSERT_TRUE(first);
  const auto second = take("the second");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error(), errno_of(EBUSY));
  EXPECT_EQ(holder_, "the first, with a long name");
}

TEST_F(LockFileTest, it_can_be_had_when_its_holder_has_gone) {
  {
    ASSERT_TRUE(take("the first, with a long name"));
  }
  const auto second = take("short");
  ASSERT_TRUE(second);
  EXPECT_FALSE(take("third"));
  EXPECT_EQ(holder_, "short") << "nothing of the longer name is left";
}

TEST_F(LockFileTest, who_waits_gets_it_as_soon_as_it_is_free) {
  auto first = take("first");
  ASSERT_TRUE(first);
  std::optional<LockFile> held(std::move(*first));
  int asked = 0;
  const auto second = take("second", [&](std::string_view holder) {
    EXPECT_EQ(holder, "first");
    if (++asked == 3) held.reset();
    return true;
  });
  EXPECT_TRUE(second);
  EXPECT_EQ(asked, 3);
}

TEST_F(LockFileTest, who_waits_no_longer_does_not_get_it) {
  const auto first = take("first");
  EXPECT_EQ(take("second", [](std::string_view /*holder*/) { return false; }).error(), errno_of(EBUSY));
}

TEST_F(LockFileTest, a_symbolic_link_is_no_lock) {
  std::filesystem::create_symlink("/dev/null", path_);
  EXPECT_EQ(take("somebody").error(), errno_of(ELOOP));
}

}  // namespace
}  // namespace braid::base
