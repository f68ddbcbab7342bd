// What identifies file systems, and directories on them.
#include "vfs/posix/directory_identity.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <set>
#include <string>

#include "sandbox.h"

namespace braid::vfs {
namespace {

using posix::directory_identity;

TEST(DirectoryIdentity, names_each_kind_of_file_system_by_its_uuid) {
  const std::map<std::string, std::string, std::less<>> expected{
      {"tmpfs", "memory"}, {"ext4", "ext"}, {"xfs", "xfs"}, {"btrfs", "btrfs"}};
  std::set<std::string> names;
  for (const std::string& kind : file_system_kinds()) {
    SCOPED_TRACE(kind);
    const auto at = mounted(kind);
    if (!at) continue;
    const auto identity = directory_identity(*at, "mine");
    ASSERT_TRUE(identity);
    EXPECT_EQ(identity->kind(), expected.at(kind));
    EXPECT_EQ(identity->lasting(), kind != "tmpfs");
    EXPECT_TRUE(names.insert(identity->file_system).second);
    EXPECT_TRUE(identity->names(*directory_identity(*at + "/.", {})));
  }
}

TEST(DirectoryIdentity, tells_directories_of_one_file_system_apart) {
  for (const std::string& kind : file_system_kinds()) {
    SCOPED_TRACE(kind);
    const auto at = mounted(kind);
    if (!at) continue;
    const std::string below = *at + "/identity";
    ASSERT_EQ(::mkdir(below.c_str(), 0700), 0);
    const auto outer = directory_identity(*at, {});
    const auto inner = directory_identity(below, {});
    ASSERT_TRUE(outer && inner);
    EXPECT_EQ(outer->file_system, inner->file_system);
    EXPECT_FALSE(outer->names(*inner));
    // The inode number may come again; its generation does not.
    ASSERT_EQ(::rmdir(below.c_str()), 0);
    ASSERT_EQ(::mkdir(below.c_str(), 0700), 0);
    EXPECT_FALSE(inner->names(*directory_identity(below, {})));
    ASSERT_EQ(::rmdir(below.c_str()), 0);
  }
}

TEST(DirectoryIdentity, goes_by_what_is_configured_where_there_is_no_uuid) {
  // procfs has none.
  EXPECT_EQ(directory_identity("/proc/self", {})->kind(), "device");
  EXPECT_EQ(directory_identity("/proc/self", "mine")->file_system, "fsid:mine");
  EXPECT_FALSE(directory_identity("/nowhere", {}));
}

}  // namespace
}  // namespace braid::vfs
