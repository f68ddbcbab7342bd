#include "vfs/export_registry.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iomanip>
#include <sstream>

namespace braid::vfs {
namespace {

class ExportRegistryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/registry-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] ExportRegistry opened() const { return ExportRegistry::open(directory_).value(); }
  [[nodiscard]] std::string file() const { return directory_ + "/exports"; }
  [[nodiscard]] std::string content() const {
    std::ostringstream out;
    out << std::ifstream(file()).rdbuf();
    return out.str();
  }
  void write(std::string_view text) const { std::ofstream(file(), std::ios::trunc) << text; }

  std::string directory_;
};

const DirectoryIdentity disk{"ext:0011", "1.02", "8:1"};
const DirectoryIdentity outer{"ext:2233", "1.0d", "8:2"};

TEST_F(ExportRegistryTest, an_export_keeps_its_identity_across_processes) {
  const Registration first = opened().look_up("/", "/srv/data", &disk).value();
  const Registration other = opened().look_up("/other", "/srv/other", &disk).value();
  const Registration again = opened().look_up("/", "/srv/data", &disk).value();
  EXPECT_TRUE(first.in_place && again.in_place);
  EXPECT_EQ(again.identity.id, first.identity.id);
  EXPECT_EQ(again.identity.key, first.identity.key);
  EXPECT_NE(other.identity.id, first.identity.id);
  EXPECT_NE(other.identity.key, first.identity.key);
}

TEST_F(ExportRegistryTest, a_directory_that_is_mounted_elsewhere_keeps_its_identity) {
  const Registration first = opened().look_up("/", "/srv/a", &disk).value();
  const Registration moved = opened().look_up("/", "/mnt/b", &disk).value();
  EXPECT_EQ(moved.identity.id, first.identity.id);
  EXPECT_FALSE(opened().look_up("/", "/mnt/b", &outer)->in_place) << "the new path is the known one now";
}

TEST_F(ExportRegistryTest, an_export_that_is_configured_for_another_directory_gets_another_identity) {
  const Registration first = opened().look_up("/", "/srv/a", &disk).value();
  const Registration moved = opened().look_up("/", "/srv/b", &outer).value();
  EXPECT_TRUE(moved.in_place);
  EXPECT_NE(moved.identity.id, first.identity.id);
  EXPECT_NE(moved.identity.key, first.identity.key);
}

// A disk that is not mounted, was formatted, or another one: the outer directory, or the same inode
// elsewhere.
TEST_F(ExportRegistryTest, something_else_at_the_same_path_is_not_what_it_was) {
  const Registration first = opened().look_up("/", "/srv/data", &disk).value();
  const DirectoryIdentity formatted{"ext:4455", disk.directory, disk.device};
  const DirectoryIdentity made_anew{disk.file_system, "1.03", disk.device};
  for (const DirectoryIdentity& found : {outer, formatted, made_anew}) {
    const Registration now = opened().look_up("/", "/srv/data", &found).value();
    EXPECT_FALSE(now.in_place);
    EXPECT_EQ(now.identity.id, first.identity.id);
    EXPECT_EQ(now.kept.file_system, disk.file_system);
    EXPECT_EQ(now.kept.directory, disk.directory);
  }
  EXPECT_TRUE(opened().look_up("/", "/srv/data", &disk)->in_place);
}

TEST_F(ExportRegistryTest, a_directory_that_is_missing_is_known_if_it_was) {
  EXPECT_EQ(opened().look_up("/", "/srv/data", nullptr).error(), base::errno_of(ENOENT));
  const Registration first = opened().look_up("/", "/srv/data", &disk).value();
  const Registration missing = opened().look_up("/", "/srv/data", nullptr).value();
  EXPECT_FALSE(missing.in_place);
  EXPECT_EQ(missing.identity.id, first.identity.id);
  EXPECT_EQ(opened().look_up("/", "/srv/elsewhere", nullptr).error(), base::errno_of(ENOENT));
}

TEST_F(ExportRegistryTest, what_is_accepted_is_another_export_unless_it_is_the_same) {
  const Registration first = opened().look_up("/", "/srv/data", &disk).value();
  EXPECT_EQ(opened().accept("/", "/srv/data", disk)->identity.id, first.identity.id);
  const Registration accepted = opened().accept("/", "/srv/data", outer).value();
  EXPECT_TRUE(accepted.in_place);
  EXPECT_NE(accepted.identity.id, first.identity.id);
  EXPECT_EQ(opened().look_up("/", "/srv/data", &outer)->identity.id, accepted.identity.id);
  EXPECT_FALSE(opened().look_up("/", "/srv/data", &disk)->in_place);
}

TEST_F(ExportRegistryTest, what_nobody_expects_to_find_again_is_accepted_and_is_another_export) {
  const DirectoryIdentity before{"memory:01-0:40", "1.01", "0:40"};
  const DirectoryIdentity after{"memory:02-0:41", "1.01", "0:41"};
  const Registration first = opened().look_up("/", "/run/data", &before).value();
  const Registration again = opened().look_up("/", "/run/data", &after).value();
  EXPECT_TRUE(again.in_place);
  EXPECT_NE(again.identity.id, first.identity.id);
  ASSERT_TRUE(opened().look_up("/disk", "/srv/data", &disk));
  EXPECT_FALSE(opened().look_up("/disk", "/srv/data", &after)->in_place) << "it was a disk";
}

TEST_F(ExportRegistryTest, a_device_number_gives_way_to_a_better_name) {
  const DirectoryIdentity numbered{"device:8:3", "81.05", "8:3"};
  const DirectoryIdentity named{"fsid:archive", "81.05", "8:3"};
  const DirectoryIdentity elsewhere{"fsid:archive", "81.05", "8:4"};
  const Registration first = opened().look_up("/", "/srv/data", &numbered).value();
  EXPECT_FALSE(opened().look_up("/", "/srv/data", &elsewhere)->in_place);
  EXPECT_EQ(opened().look_up("/", "/srv/data", &named)->identity.id, first.identity.id);
  EXPECT_TRUE(opened().look_up("/", "/srv/data", &elsewhere)->in_place) << "it has a name now";
}

TEST_F(ExportRegistryTest, only_the_owner_may_read_the_keys) {
  ASSERT_TRUE(opened().look_up("/", "/srv/data", &disk));
  struct stat status{};
  ASSERT_EQ(::stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
}

std::string line_of(const ExportIdentity& identity) {
  std::ostringstream out;
  out << std::hex << std::setfill('0') << std::setw(8) << identity.id.value() << ' ' << std::setw(16)
      << identity.key[0] << std::setw(16) << identity.key[1];
  return out.str();
}

TEST_F(ExportRegistryTest, the_file_is_as_documented) {
  const DirectoryIdentity named{"fsid:my disk", "1.02", "8:1"};
  const ExportIdentity identity = opened().look_up("/a b", "/srv/new\nline\\", &named)->identity;
  EXPECT_EQ(content(), "braid-exports 2\n" + line_of(identity) +
                           " /a\\040b /srv/new\\012line\\134 fsid:my\\040disk 1.02\nend 1\n");
  EXPECT_EQ(opened().look_up("/a b", "/srv/new\nline\\", &named)->identity.id, identity.id);
}

TEST_F(ExportRegistryTest, version_1_is_upgraded_once) {
  const ExportIdentity first{ExportId(0x1f6c2a90), {0x0011223344556677, 0x8899aabbccddeeff}};
  const ExportIdentity second{ExportId(0x00000002), {3, 4}};
  write("braid-exports 1\n" + line_of(first) + " / /srv/data\n" + line_of(second) +
        " /later /srv/later\nend 2\n");
  const Registration now = opened().look_up("/", "/srv/data", &disk).value();
  EXPECT_TRUE(now.in_place);
  EXPECT_EQ(now.identity.id, first.id);
  EXPECT_EQ(now.identity.key, first.key);
  EXPECT_EQ(content(), "braid-exports 2\n" + line_of(first) + " / /srv/data ext:0011 1.02\n" +
                           line_of(second) + " /later /srv/later - -\nend 2\n");
  EXPECT_FALSE(opened().look_up("/", "/srv/data", &outer)->in_place) << "it is bound";
  EXPECT_EQ(opened().look_up("/later", "/srv/later", &outer)->identity.id, second.id);
  EXPECT_FALSE(opened().look_up("/later", "/srv/later", &disk)->in_place);
}

TEST_F(ExportRegistryTest, a_damaged_file_is_an_error_and_stays_as_it_is) {
  ASSERT_TRUE(opened().look_up("/", "/srv/data", &disk));
  const std::string good = content();
  const std::string damaged[] = {"",
                                 "braid-exports 3\nend 0\n",
                                 good.substr(0, good.size() - 6),
                                 good.substr(0, good.size() / 2),
                                 good + "x",
                                 "braid-exports 2\nzz / / ext:0 1.0\nend 1\n",
                                 "braid-exports 2\n" + line_of({ExportId(1), {2, 3}}) + " / /srv\nend 1\n",
                                 "braid-exports 1\nzz / /\nend 1\n",
                                 "braid-exports 1\nend 1\n"};
  for (const std::string& text : damaged) {
    write(text);
    const auto found = opened().look_up("/", "/srv/data", &disk);
    ASSERT_FALSE(found) << text;
    EXPECT_EQ(found.error(), base::errno_of(EBADMSG));
    EXPECT_EQ(content(), text);
  }
}

TEST_F(ExportRegistryTest, a_crash_while_writing_leaves_the_old_file) {
  const Registration first = opened().look_up("/", "/srv/data", &disk).value();
  std::ofstream(directory_ + "/exports.new") << "half a fi";
  EXPECT_EQ(opened().look_up("/", "/srv/data", &disk)->identity.id, first.identity.id);
  EXPECT_TRUE(opened().look_up("/second", "/srv/second", &disk));
}

TEST_F(ExportRegistryTest, in_memory_an_identity_lasts_as_long_as_the_registry) {
  ExportRegistry registry = ExportRegistry::in_memory();
  const Registration first = registry.look_up("/", "/srv/data", &disk).value();
  EXPECT_EQ(registry.look_up("/", "/srv/data", &disk)->identity.id, first.identity.id);
  EXPECT_NE(ExportRegistry::in_memory().look_up("/", "/srv/data", &disk)->identity.key, first.identity.key);
}

TEST_F(ExportRegistryTest, what_has_never_been_there_gets_the_identity_that_was_reserved_for_it) {
  EXPECT_EQ(opened().look_up("/new", "/srv/new", nullptr).error(), base::errno_of(ENOENT));
  const Registration reserved = opened().reserve("/new", "/srv/new").value();
  EXPECT_FALSE(reserved.in_place);
  const Registration absent = opened().look_up("/new", "/srv/new", nullptr).value();
  EXPECT_FALSE(absent.in_place);
  EXPECT_EQ(absent.identity.id, reserved.identity.id);
  const Registration found = opened().look_up("/new", "/srv/new", &disk).value();
  EXPECT_TRUE(found.in_place);
  EXPECT_EQ(found.identity.id, reserved.identity.id);
}

// A disk that is to be mounted elsewhere, and is not there yet.
TEST_F(ExportRegistryTest, what_is_known_keeps_its_identity_while_its_new_place_is_empty) {
  const Registration known = opened().look_up("/data", "/srv/data", &disk).value();
  const Registration absent = opened().reserve("/data", "/mnt/data").value();
  EXPECT_FALSE(absent.in_place);
  EXPECT_EQ(absent.identity.id, known.identity.id);
  EXPECT_EQ(opened().look_up("/data", "/mnt/data", &disk).value().identity.id, known.identity.id);
}

}  // namespace
}  // namespace braid::vfs
