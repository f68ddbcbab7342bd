// What ends what is remembered of directories, and what does not.
#include "vfs/posix/inherited_memo.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "vfs/posix/kernel.h"

namespace braid::vfs::posix {
namespace {

class InheritedMemoTest : public testing::Test {
 protected:
  InheritedMemoTest() {
    std::string pattern = testing::TempDir() + "/braid-memo-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
    std::filesystem::create_directories(path_ + "/a/b");
  }
  ~InheritedMemoTest() override { std::filesystem::remove_all(path_); }

  [[nodiscard]] base::UniqueFd directory(const std::string& name) const {
    return base::UniqueFd(::open((path_ + "/" + name).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  // What a/b has: "1". False: nothing can be remembered here.
  bool remember() {
    const auto since = memo_.begin();
    if (!since || !memo_.watch(directory("a/b").get()) || !memo_.watch(directory("a").get())) return false;
    memo_.keep(*since, some, "user.x", Stub::Inherited{.value = "1", .fileid = 7});
    return true;
  }
  [[nodiscard]] bool known() { return memo_.find(some, "user.x").has_value(); }

  static constexpr InheritedMemo::Directory some{.device = 1, .inode = 2};
  std::string path_;
  InheritedMemo memo_{true};
};

TEST_F(InheritedMemoTest, attributes_and_moves_of_the_directories_end_it) {
  if (!remember()) GTEST_SKIP() << "no fanotify(7)";
  ASSERT_TRUE(known());
  EXPECT_EQ((*memo_.find(some, "user.x"))->value, "1");
  EXPECT_FALSE(memo_.find(some, "user.y"));
  EXPECT_FALSE(memo_.find({.device = 1, .inode = 3}, "user.x"));

  ASSERT_EQ(::setxattr((path_ + "/a").c_str(), "user.x", "2", 1, 0), 0);
  EXPECT_FALSE(known());
  ASSERT_TRUE(remember());
  std::filesystem::rename(path_ + "/a/b", path_ + "/a/c");
  EXPECT_FALSE(known());
  std::filesystem::rename(path_ + "/a/c", path_ + "/a/b");
  ASSERT_TRUE(remember());
  std::filesystem::rename(path_ + "/a", path_ + "/d");
  EXPECT_FALSE(known());
}

TEST_F(InheritedMemoTest, what_happens_in_the_directories_does_not) {
  if (!remember()) GTEST_SKIP() << "no fanotify(7)";
  std::ofstream(path_ + "/a/b/f") << "bytes";
  ASSERT_EQ(::chmod((path_ + "/a/b/f").c_str(), 0600), 0);
  ASSERT_EQ(::setxattr((path_ + "/a/b/f").c_str(), "user.x", "2", 1, 0), 0);
  std::filesystem::create_directory(path_ + "/a/other");
  std::filesystem::remove(path_ + "/a/b/f");
  EXPECT_TRUE(known());
}

TEST_F(InheritedMemoTest, what_changed_during_the_look_is_not_kept) {
  const auto since = memo_.begin();
  if (!since || !memo_.watch(directory("a").get())) GTEST_SKIP() << "no fanotify(7)";
  ASSERT_EQ(::setxattr((path_ + "/a").c_str(), "user.x", "2", 1, 0), 0);
  memo_.keep(*since, some, "user.x", std::nullopt);
  EXPECT_FALSE(known());
}

TEST_F(InheritedMemoTest, it_is_bounded) {
  if (!remember()) GTEST_SKIP() << "no fanotify(7)";
  const auto since = memo_.begin();
  for (std::uint64_t i = 0; i < InheritedMemo::directories_max; ++i)
    memo_.keep(*since, {.device = 2, .inode = i}, "user.x", std::nullopt);
  EXPECT_FALSE(known());
  for (std::size_t i = 0; i < InheritedMemo::directories_max; ++i)
    ASSERT_TRUE(memo_.watch(directory("a").get()));
  ASSERT_TRUE(remember());
  EXPECT_TRUE(known()) << "directories are watched anew";
  ASSERT_EQ(::setxattr((path_ + "/a").c_str(), "user.x", "2", 1, 0), 0);
  EXPECT_FALSE(known());
}

TEST_F(InheritedMemoTest, nothing_is_remembered_of_what_other_machines_change) {
  InheritedMemo memo(false);
  EXPECT_FALSE(memo.begin());
}

}  // namespace
}  // namespace braid::vfs::posix
