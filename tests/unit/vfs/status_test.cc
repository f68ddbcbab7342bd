// FSSTAT, FSINFO and PATHCONF.
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "posix_fixture.h"

namespace braid::vfs {
namespace {

class StatusTest : public PosixTest {
 protected:
  static bool same(const struct statvfs& a, const struct statvfs& b) {
    return a.f_blocks == b.f_blocks && a.f_bavail == b.f_bavail && a.f_bfree == b.f_bfree &&
           a.f_files == b.f_files;
  }
};
BRAID_ON_EVERY_FILE_SYSTEM(StatusTest);

TEST_P(StatusTest, space_is_what_the_file_system_says) {
  // File systems free space in the background, too: asked until the answer is the same before and after.
  struct statvfs expected{}, after{};
  FileSystemStatus now;
  for (int tries = 0; tries == 0 || !same(expected, after); ++tries) {
    ASSERT_LT(tries, 1000) << "the file system never stands still";
    ASSERT_EQ(::statvfs(local().c_str(), &expected), 0);
    now = run(fs_->status(root_)).value();
    ASSERT_EQ(::statvfs(local().c_str(), &after), 0);
  }
  EXPECT_EQ(now.bytes_total, expected.f_blocks * expected.f_frsize);
  EXPECT_EQ(now.bytes_available, expected.f_bavail * expected.f_frsize);
  EXPECT_EQ(now.bytes_free, expected.f_bfree * expected.f_frsize);
  EXPECT_EQ(now.files_total, expected.f_files);
}

TEST_P(StatusTest, names_are_as_long_as_the_file_system_allows) {
  EXPECT_EQ(run(fs_->limits(root_))->name_bytes_max, 255U);
}

TEST_P(StatusTest, the_largest_file_is_where_lseek_ends) {
  const auto largest = static_cast<off_t>(run(fs_->limits(root_))->file_bytes_max);
  local_write("file", "");
  const int fd = ::open(local("file").c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(::lseek(fd, largest, SEEK_SET), largest);
  if (largest != std::numeric_limits<off_t>::max()) {
    EXPECT_EQ(::lseek(fd, largest + 1, SEEK_SET), -1);
  }
  ::close(fd);
}

TEST_P(StatusTest, as_many_links_as_promised) {
  const std::uint32_t promised = run(fs_->limits(root_))->link_max;
  local_write("file", "");
  // The first thousand show that the number is not a guess like _PC_LINK_MAX's 127.
  const std::uint32_t tried = std::min(promised, 1000U);
  for (std::uint32_t i = 1; i < tried; ++i)
    ASSERT_EQ(::link(local("file").c_str(), local("link" + std::to_string(i)).c_str()), 0) << i;
  EXPECT_GE(promised, 1000U);
}

TEST(TraitsTest, old_kernels_shift_positions_on_tmpfs) {
  EXPECT_TRUE(posix::traits_of(TMPFS_MAGIC, "6.18.44-fc").stable_positions);
  EXPECT_TRUE(posix::traits_of(TMPFS_MAGIC, "6.6.0").stable_positions);
  EXPECT_FALSE(posix::traits_of(TMPFS_MAGIC, "6.1.0-18-amd64").stable_positions);
  EXPECT_FALSE(posix::traits_of(TMPFS_MAGIC, "5.10.0").stable_positions);
  EXPECT_TRUE(posix::traits_of(EXT4_SUPER_MAGIC, "5.10.0").stable_positions);
}

TEST(TraitsTest, an_unknown_file_system_is_trusted_with_nothing) {
  const posix::Traits traits = posix::traits_of(NFS_SUPER_MAGIC, "6.18.0");
  EXPECT_EQ(traits.policy, posix::PlacementPolicy::pool_always);
  EXPECT_FALSE(traits.in_memory);
  EXPECT_TRUE(traits.privileged_blocks);
}

}  // namespace
}  // namespace braid::vfs
