#include "pnfs_mds/cluster.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "pnfs_mds/fake/objects.h"
#include "tests/unit/pnfs_mds/scratch.h"

namespace braid::pnfs_mds::test {
namespace {

using testing::HasSubstr;

class ClusterTest : public ScratchTest {
 protected:
  auto open(const std::string& secret = "") {
    return Cluster::open({.state_dir = path_, .secret_file = secret, .policy = {}, .servers = {}}, clock_,
                         objects_);
  }
  std::string secret_file(std::size_t bytes, mode_t mode) const {
    const std::string file = path_ / "the_secret";
    std::filesystem::remove(file);
    std::ofstream(file) << std::string(bytes, 's');
    ::chmod(file.c_str(), mode);
    return file;
  }
  mode_t mode_of(const char* name) const {
    struct stat now{};
    ::stat((path_ / "pnfs" / name).c_str(), &now);
    return now.st_mode & 07777U;
  }

  fake::Objects objects_;
};

TEST_F(ClusterTest, makes_what_it_needs_and_finds_it_again) {
  pnfs::ClusterId id{};
  {
    const auto cluster = open();
    ASSERT_TRUE(cluster.has_value()) << cluster.error().text;
    id = (*cluster)->id();
    for (const char* name : {"secret", "cluster", "layout.key", "servers", "objects", "grants", "removals"})
      EXPECT_EQ(mode_of(name), 0600U) << name;
    EXPECT_EQ(mode_of("."), 0700U);
  }
  const auto again = open();
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ((*again)->id(), id);
}

TEST_F(ClusterTest, has_the_state_directory_alone) {
  const auto first = open();
  const auto second = open();
  ASSERT_FALSE(second.has_value());
  EXPECT_TRUE(second.error().in_use);
}

TEST_F(ClusterTest, the_secret_is_a_private_file_of_the_right_size) {
  EXPECT_TRUE(open(secret_file(32, 0600)).has_value());
  EXPECT_THAT(open(secret_file(31, 0600)).error().text, HasSubstr("31 bytes"));
  EXPECT_THAT(open(secret_file(4097, 0600)).error().text, HasSubstr("must have 32 to 4096"));
  EXPECT_THAT(open(secret_file(32, 0640)).error().text, HasSubstr("chmod 600"));
  EXPECT_THAT(open(path_ / "none").error().text, HasSubstr("cannot be read"));
  EXPECT_THAT(open(path_).error().text, HasSubstr("no file"));
}

TEST_F(ClusterTest, a_damaged_file_is_named) {
  {
    const auto cluster = open();
  }
  std::ofstream(path_ / "pnfs" / "layout.key") << "short";
  const auto damaged = open();
  ASSERT_FALSE(damaged.has_value());
  EXPECT_THAT(damaged.error().text, HasSubstr("pnfs/layout.key"));
  EXPECT_FALSE(damaged.error().in_use);
}

TEST_F(ClusterTest, a_handle_is_for_one_server) {
  const auto cluster = std::move(*open());
  pnfs::ServerId a{}, b{};
  a[0] = std::byte{1};
  b[0] = std::byte{2};
  const auto first = now(cluster->servers().admit(a, "a", {})).value();
  const auto second = now(cluster->servers().admit(b, "b", {})).value();
  pnfs::DataHandle handle;
  handle.object = pnfs::ObjectId(7);
  handle.grant = pnfs::GrantNumber(1);
  handle.epoch = pnfs::Epoch(1);
  const vfs::FileHandle wire = cluster->seal(first, handle);
  const auto key = cluster->secret().handle_key(cluster->id(), cluster->newest_key());
  EXPECT_EQ(pnfs::DataHandleCodec(key, cluster->newest_key(), a).open(wire.view()), handle);
  EXPECT_FALSE(pnfs::DataHandleCodec(key, cluster->newest_key(), b).open(wire.view()));
  EXPECT_EQ(pnfs::DataHandleCodec(key, cluster->newest_key(), b).open(cluster->seal(second, handle).view()),
            handle);
}

TEST_F(ClusterTest, facts_of_files_are_those_of_who_knows_them) {
  const auto cluster = std::move(*open());
  EXPECT_EQ(now(cluster->file_facts(pnfs::ObjectId(3))).error(), vfs::Error::stale);
  cluster->set_file_facts([](pnfs::ObjectId object) -> vfs::VfsOp<FileFacts> {
    return FileFacts{.size = object.value(), .owner = {.uid = 1, .gid = 2}};
  });
  EXPECT_EQ(now(cluster->file_facts(pnfs::ObjectId(3)))->size, 3U);
}

}  // namespace
}  // namespace braid::pnfs_mds::test
