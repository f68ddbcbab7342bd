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

TEST_F(ExportRegistryTest, an_export_keeps_its_identity_across_processes) {
  const ExportIdentity first = opened().identity_of("/", "/srv/data").value();
  const ExportIdentity other = opened().identity_of("/other", "/srv/other").value();
  const ExportIdentity again = opened().identity_of("/", "/srv/data").value();
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(again.key, first.key);
  EXPECT_NE(other.id, first.id);
  EXPECT_NE(other.key, first.key);
}

TEST_F(ExportRegistryTest, an_export_of_another_directory_gets_another_identity) {
  const ExportIdentity first = opened().identity_of("/", "/srv/a").value();
  const ExportIdentity moved = opened().identity_of("/", "/srv/b").value();
  EXPECT_NE(moved.id, first.id);
  EXPECT_NE(moved.key, first.key);
}

TEST_F(ExportRegistryTest, only_the_owner_may_read_the_keys) {
  ASSERT_TRUE(opened().identity_of("/", "/srv/data"));
  struct stat status{};
  ASSERT_EQ(::stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
}

TEST_F(ExportRegistryTest, the_file_is_as_documented) {
  const ExportIdentity identity = opened().identity_of("/a b", "/srv/new\nline\\").value();
  std::ostringstream expected;
  expected << "braid-exports 1\n"
           << std::hex << std::setfill('0') << std::setw(8) << identity.id.value() << ' ' << std::setw(16)
           << identity.key[0] << std::setw(16) << identity.key[1]
           << " /a\\040b /srv/new\\012line\\134\nend 1\n";
  EXPECT_EQ(content(), expected.str());
  EXPECT_EQ(opened().identity_of("/a b", "/srv/new\nline\\").value().id, identity.id);
}

TEST_F(ExportRegistryTest, a_damaged_file_is_an_error_and_stays_as_it_is) {
  ASSERT_TRUE(opened().identity_of("/", "/srv/data"));
  const std::string good = content();
  const std::string damaged[] = {"",
                                 "braid-exports 2\nend 0\n",
                                 good.substr(0, good.size() - 6),
                                 good.substr(0, good.size() / 2),
                                 good + "x",
                                 "braid-exports 1\nzz / /\nend 1\n",
                                 "braid-exports 1\nend 1\n"};
  for (const std::string& text : damaged) {
    write(text);
    const auto found = opened().identity_of("/", "/srv/data");
    ASSERT_FALSE(found) << text;
    EXPECT_EQ(found.error(), base::errno_of(EBADMSG));
    EXPECT_EQ(content(), text);
  }
}

TEST_F(ExportRegistryTest, a_crash_while_writing_leaves_the_old_file) {
  const ExportIdentity first = opened().identity_of("/", "/srv/data").value();
  std::ofstream(directory_ + "/exports.new") << "half a fi";
  EXPECT_EQ(opened().identity_of("/", "/srv/data").value().id, first.id);
  EXPECT_TRUE(opened().identity_of("/second", "/srv/second"));
}

TEST_F(ExportRegistryTest, in_memory_an_identity_lasts_as_long_as_the_registry) {
  ExportRegistry registry = ExportRegistry::in_memory();
  const ExportIdentity first = registry.identity_of("/", "/srv/data").value();
  EXPECT_EQ(registry.identity_of("/", "/srv/data").value().id, first.id);
  EXPECT_NE(ExportRegistry::in_memory().identity_of("/", "/srv/data").value().key, first.key);
}

}  // namespace
}  // namespace braid::vfs
