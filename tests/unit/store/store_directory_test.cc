// The directory of a store: how it is made, and what is refused.
#include <gmock/gmock.h>

#include "store/store.h"
#include "tests/unit/store/scratch.h"

namespace braid::store::test {
namespace {

class StoreDirectoryTest : public testing::Test {
 protected:
  StoreDirectoryTest() {
    std::string pattern = testing::TempDir() + "store_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~StoreDirectoryTest() override { std::filesystem::remove_all(path_); }
  std::string error(OpenFor what = OpenFor::writing) const {
    const auto opened = Store::open(path_ / "s", {.what = what, .who = "braid test (pid 1)"});
    return opened ? "" : opened.error();
  }
  std::filesystem::path path_;
};

TEST_F(StoreDirectoryTest, is_made_where_there_is_nothing) {
  EXPECT_THAT(error(), testing::HasSubstr("No such file"));
  EXPECT_EQ(error(OpenFor::creating), "");
  EXPECT_EQ(error(), "");
  EXPECT_EQ(error(OpenFor::creating), "") << "it is there";
  struct stat key{};
  ASSERT_EQ(::stat((path_ / "s" / "KEY").c_str(), &key), 0);
  EXPECT_EQ(key.st_mode & 0777U, 0600U);
}

TEST_F(StoreDirectoryTest, is_not_made_where_there_is_something) {
  std::filesystem::create_directory(path_ / "s");
  EXPECT_THAT(error(), testing::HasSubstr("empty"));
  std::ofstream(path_ / "s" / "thesis.txt") << "x";
  EXPECT_THAT(error(OpenFor::creating), testing::HasSubstr("no store"));
}

TEST_F(StoreDirectoryTest, one_that_was_half_made_is_made) {
  ASSERT_EQ(error(OpenFor::creating), "");
  std::filesystem::remove(path_ / "s" / "FORMAT");
  std::filesystem::remove_all(path_ / "s" / "index");
  EXPECT_EQ(error(OpenFor::creating), "");
  std::filesystem::remove(path_ / "s" / "FORMAT");
  EXPECT_THAT(error(OpenFor::creating), testing::HasSubstr("FORMAT")) << "it has an index: it was in use";
}

TEST_F(StoreDirectoryTest, has_one_user) {
  const auto first = Store::open(path_ / "s", {.what = OpenFor::creating, .who = "braid test (pid 1)"});
  ASSERT_TRUE(first);
  EXPECT_THAT(error(), testing::HasSubstr("in use by braid test (pid 1)"));
}

TEST_F(StoreDirectoryTest, what_is_of_a_later_version_or_has_another_key_is_refused) {
  ASSERT_EQ(error(OpenFor::creating), "");
  std::ifstream in(path_ / "s" / "FORMAT");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::string later = text;
  later[12] = '7';
  std::ofstream(path_ / "s" / "FORMAT") << later;
  EXPECT_THAT(error(), testing::HasSubstr("later version"));
  std::ofstream(path_ / "s" / "FORMAT") << text;
  std::ofstream(path_ / "s" / "KEY") << std::string(32, 'k');
  EXPECT_THAT(error(), testing::HasSubstr("KEY"));
  std::filesystem::remove(path_ / "s" / "KEY");
  EXPECT_THAT(error(), testing::HasSubstr("KEY"));
}

TEST_F(StoreDirectoryTest, a_file_system_keeps_its_number) {
  {
    const auto store = std::move(*Store::open(path_ / "s", {.what = OpenFor::creating}));
    EXPECT_EQ(store->tree_of("ext:1", "/a"), 1U);
    EXPECT_EQ(store->tree_of("ext:2", "/b"), 2U);
  }
  const auto store = std::move(*Store::open(path_ / "s", {.what = OpenFor::writing}));
  EXPECT_EQ(store->tree_of("ext:1", "/moved"), 1U);
  EXPECT_EQ(store->trees()->front(), (Tree{1, "ext:1", "/moved"}));
}

}  // namespace
}  // namespace braid::store::test
