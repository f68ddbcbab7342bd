#include "store/recipes/former_chunks.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>

#include "store/recipes/recipe.h"
#include "tests/unit/store/scratch.h"

namespace braid::store::test {
namespace {

constexpr std::uint64_t chunk_bytes = 1 * base::MiB;

class FormerChunksTest : public ScratchTest {
 protected:
  static hashing::Digest id_of(std::uint64_t number) {
    hashing::Digest out;
    const base::Bytes id = noise(hashing::digest_bytes, number);
    std::ranges::copy(id, out.bytes.begin());
    return out;
  }
  static Location place_of(std::uint64_t number) {
    return {.volume = 0, .container = 1, .offset = static_cast<std::uint32_t>(number + 1)};
  }
  // Of so many chunks, one behind the other. `number_of`: which one is at an index.
  std::shared_ptr<const SealedFile> file_of(
      std::uint64_t count,
      const std::function<std::uint64_t(std::uint64_t index)>& number_of = std::identity()) {
    RecipeBuilder builder(chunks_);
    for (std::uint64_t i = 0; i < count; ++i)
      EXPECT_TRUE(builder.add({.offset = i * chunk_bytes,
                               .length = chunk_bytes,
                               .kind = EntryKind::chunk,
                               .slice = 0,
                               .chunk = {.id = id_of(number_of(i)),
                                         .at = place_of(number_of(i)),
                                         .bytes = static_cast<std::uint32_t>(chunk_bytes)}}));
    return std::make_shared<const SealedFile>(
        chunks_, Record{},
        Root{.size = count * chunk_bytes, .mtime = {}, .ctime = {}, .steps = {}, .top = *builder.finish()});
  }
  // Whether chunk `number` is found if the file has it at this offset now.
  bool finds(std::uint64_t number, std::uint64_t offset) {
    former_.look_around(chunks_, offset, offset + chunk_bytes);
    const ChunkStore::Hint hint = former_.hint();
    const auto at = hint ? hint(id_of(number)) : std::nullopt;
    EXPECT_TRUE(!at || *at == place_of(number));
    if (at) former_.follow(id_of(number), offset);
    return at.has_value();
  }

  std::unique_ptr<Containers> containers_ = std::move(*Containers::open(*medium_, id_, OpenFor::writing));
  std::unique_ptr<Index> index_ = std::move(*Index::open(path_ / "index", {}));
  ChunkStore chunks_{*containers_, index_.get(), keys_, base::MiB};
  FormerChunks former_;
};

TEST_F(FormerChunksTest, of_no_file_nothing_is_found) {
  EXPECT_FALSE(finds(0, 0));
  former_.look_in(file_of(0), nullptr);
  EXPECT_FALSE(finds(0, 0));
}

TEST_F(FormerChunksTest, what_is_near_is_found) {
  former_.look_in(file_of(1000), nullptr);
  for (const std::uint64_t number : {0U, 1U, 500U, 999U}) EXPECT_TRUE(finds(number, number * chunk_bytes));
  EXPECT_TRUE(finds(993, 1000 * chunk_bytes)) << "something was put in before it";
  former_ = {};
  former_.look_in(file_of(1000), nullptr);
  EXPECT_TRUE(finds(507, 500 * chunk_bytes)) << "or taken out";
  former_ = {};
  former_.look_in(file_of(1000), nullptr);
  EXPECT_FALSE(finds(600, 500 * chunk_bytes)) << "not in memory for the whole file";
}

TEST_F(FormerChunksTest, what_follows_is_looked_for_where_it_followed) {
  former_.look_in(file_of(1000), nullptr);
  std::uint64_t put_in = 0;
  for (std::uint64_t number = 0; number < 100; ++number) {
    if (number % 10 == 9) put_in += 7 * chunk_bytes;
    ASSERT_TRUE(finds(number, number * chunk_bytes + put_in)) << number;
  }
  EXPECT_TRUE(finds(0, 0)) << "another stream";
  former_ = {};
  former_.look_in(file_of(1000), nullptr);
  for (std::uint64_t number = 7; number < 140; ++number)
    ASSERT_TRUE(finds(number / 10 * 7 + number, number * chunk_bytes)) << number;
}

TEST_F(FormerChunksTest, both_versions_are_looked_in) {
  former_.look_in(file_of(100), file_of(100, [](std::uint64_t index) { return 200 + index; }));
  EXPECT_TRUE(finds(50, 50 * chunk_bytes));
  EXPECT_TRUE(finds(250, 50 * chunk_bytes));
  // Each with what was put in before it.
  EXPECT_TRUE(finds(255, 60 * chunk_bytes));
  EXPECT_TRUE(finds(262, 74 * chunk_bytes));
  EXPECT_TRUE(finds(75, 75 * chunk_bytes));
}

// A chunk that is everywhere does not tell where one is.
TEST_F(FormerChunksTest, what_is_repeated_leads_nowhere) {
  const auto number_of = [](std::uint64_t index) {
    return index >= 100 && index < 150 ? std::uint64_t{1000} : index;
  };
  former_.look_in(file_of(300, number_of), nullptr);
  std::uint64_t put_in = 0;
  for (std::uint64_t index = 0; index < 300; ++index) {
    if (index == 10 || index == 20) put_in += 7 * chunk_bytes;
    ASSERT_TRUE(finds(number_of(index), index * chunk_bytes + put_in)) << index;
  }
}

TEST_F(FormerChunksTest, nodes_that_are_gone_lead_to_nothing_and_are_no_damage) {
  const auto file = file_of(1000);
  ASSERT_GT(file->root().top.height, 0);
  ASSERT_TRUE(medium_->make_directory("empty"));
  std::filesystem::create_directory(path_ / "empty" / Containers::directory);
  const auto medium = std::move(*open_posix_medium(path_ / "empty"));
  const auto containers = std::move(*Containers::open(*medium, id_, OpenFor::writing));
  ChunkStore empty(*containers, nullptr, keys_, base::MiB);
  former_.look_in(file, nullptr);
  former_.look_around(empty, 0, chunk_bytes);
  EXPECT_FALSE(former_.hint());
  EXPECT_EQ(empty.counts().mismatches, 0U);
}

TEST_F(FormerChunksTest, of_some_files_the_last_version_is_known) {
  FormerVersions versions;
  const auto file = [](unsigned number) {
    KernelHandle out{.type = 1, .size = 2, .bytes = {}};
    out.bytes[0] = static_cast<std::byte>(number >> 8U);
    out.bytes[1] = static_cast<std::byte>(number);
    return out;
  };
  const auto small = file_of(1), large = file_of(Node::entries_max / 8);
  EXPECT_EQ(versions.find(file(0)), nullptr);
  versions.note(file(0), nullptr);
  versions.note(file(0), file_of(0));
  EXPECT_EQ(versions.find(file(0)), nullptr) << "nothing is looked for in it";
  versions.note(file(0), small);
  versions.note(file(1), small);
  versions.note(file(1), large);
  EXPECT_EQ(versions.find(file(0)), small);
  EXPECT_EQ(versions.find(file(1)), large);
  constexpr unsigned many = 20'000;
  for (unsigned number = 2; number < many; ++number) versions.note(file(number), large);
  EXPECT_EQ(versions.find(file(0)), nullptr);
  EXPECT_EQ(versions.find(file(1)), nullptr);
  EXPECT_EQ(versions.find(file(many - 1)), large);
  // What is noted again does not count twice.
  for (unsigned round = 0; round < many; ++round) versions.note(file(many - 1), large);
  EXPECT_EQ(versions.find(file(many - 2)), large);
}

}  // namespace
}  // namespace braid::store::test
