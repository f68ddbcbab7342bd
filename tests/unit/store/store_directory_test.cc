// The directory of a store: how it is made, and what is refused.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "store/recipes/sealed_file.h"
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

TEST_F(StoreDirectoryTest, who_waits_gets_it_when_its_user_has_ended) {
  auto first = Store::open(path_ / "s", {.what = OpenFor::creating, .who = "braid test (pid 1)"});
  ASSERT_TRUE(first);
  std::vector<std::string> users;
  const auto wait = [&](std::string_view user) {
    users.emplace_back(user);
    if (users.size() == 2) first->reset();
    return true;
  };
  const auto second =
      Store::open(path_ / "s", {.what = OpenFor::writing, .who = "braid test (pid 2)", .wait = wait});
  EXPECT_TRUE(second) << second.error();
  EXPECT_THAT(users, testing::ElementsAre("braid test (pid 1)", "braid test (pid 1)"));
  EXPECT_THAT(error(), testing::HasSubstr("in use by braid test (pid 2)"));
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

// Sealed by the first version of braid that had stores: one file, the numbers from 0 to 1199 on a line each.
TEST_F(StoreDirectoryTest, what_the_first_version_sealed_is_read) {
  const std::filesystem::path sample = BRAID_STORE_SAMPLE, store_path = path_ / "s";
  std::filesystem::create_directories(store_path / Containers::directory);
  for (const char* const name : {"FORMAT", "KEY", "registry", "trees"})
    std::filesystem::copy_file(sample / name, store_path / name);
  std::filesystem::copy_file(sample / "container", store_path / Containers::name_of(1));
  const auto opened = Store::open(store_path, {.what = OpenFor::writing});
  ASSERT_TRUE(opened) << opened.error();
  Store& store = **opened;
  std::string wanted;
  for (int i = 0; i < 1200; ++i) wanted += std::to_string(i) + "\n";

  KernelHandle handle{.type = 1, .size = 12, .bytes = {}};
  ASSERT_TRUE(parse_hex("d52395590200000000000000", base::MutableBytes(handle.bytes).first(handle.size)));
  std::vector<RegistryEntry> entries;
  EXPECT_EQ(store.registry()->walk([&](const RegistryEntry& entry) { entries.push_back(entry); }), 0U);
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries.front(), (RegistryEntry{RegistryKind::sealed, 1, wanted.size(), handle}));

  base::Bytes record(record_bytes);
  ASSERT_TRUE(
      parse_hex("01000000000004001392000000000000131a6e6c069b3972f9ca26c12c33b35b598e7d9201c17083ef2d5356d427"
                "6bf5b062426cea2b1896a6707016",
                record));
  const auto sealed = SealedFile::open(store.chunks(), store.keys(), handle, record);
  ASSERT_TRUE(sealed);
  const base::UniqueFd fd(::open((path_ / "f").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  ASSERT_EQ(::ftruncate(fd.get(), static_cast<off_t>(wanted.size())), 0);
  base::Bytes bytes(wanted.size());
  ASSERT_TRUE((*sealed)->read(*store.medium().file_of(fd.get()), 0, bytes));
  EXPECT_TRUE(base::text_of(bytes) == wanted);
}

}  // namespace
}  // namespace braid::store::test
