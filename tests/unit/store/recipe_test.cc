#include "store/recipes/recipe.h"

#include <limits>
#include <map>
#include <utility>

#include "store/recipes/recipe_edit.h"
#include "tests/unit/store/scratch.h"

namespace braid::store::test {
namespace {

class RecipeTest : public ScratchTest {
 protected:
  // Of an entry of its own: the id tells which.
  static NodeEntry chunk(std::uint64_t offset, std::uint32_t length, std::uint64_t number) {
    NodeEntry out{.offset = offset, .length = length, .kind = EntryKind::chunk, .slice = 0, .chunk = {}};
    out.chunk.bytes = length;
    const base::Bytes id = noise(hashing::digest_bytes, number);
    std::ranges::copy(id, out.chunk.id.bytes.begin());
    return out;
  }
  std::vector<RecipePiece> pieces(const Node& top, std::uint64_t begin, std::uint64_t end) {
    std::vector<RecipePiece> out;
    EXPECT_TRUE(walk_recipe(chunks_, top, begin, end, [&](const RecipePiece& piece) {
      out.push_back(piece);
      return base::Result<void>();
    }));
    return out;
  }

  std::unique_ptr<Containers> containers_ = std::move(*Containers::open(*medium_, id_, OpenFor::writing));
  std::unique_ptr<Index> index_ = std::move(*Index::open(path_ / "index", {}));
  ChunkStore chunks_{*containers_, index_.get(), keys_, base::MiB};
};

TEST_F(RecipeTest, finds_any_byte_in_a_tree_of_any_height) {
  for (const std::uint64_t count : {0U, 1U, 31U, 240U, 241U, 5000U, 60'000U}) {
    RecipeBuilder builder(chunks_);
    // Every third one is missing.
    for (std::uint64_t i = 0; i < count; ++i) ASSERT_TRUE(i % 3 == 2 || builder.add(chunk(i * 100, 100, i)));
    const Node top = *builder.finish();
    ASSERT_TRUE(is_sound(top));
    EXPECT_TRUE(count < 60'000 || top.height >= 2);
    std::uint64_t seen = 0;
    for (const RecipePiece& piece : pieces(top, 0, count * 100)) {
      EXPECT_EQ(piece.chunk.id, chunk(0, 1, piece.offset / 100).chunk.id);
      seen += piece.length;
    }
    EXPECT_EQ(seen, builder.mapped());
    if (count < 3) continue;
    const auto some = pieces(top, (count / 3) * 300 - 150, (count / 3) * 300 + 30);
    ASSERT_FALSE(some.empty());
    EXPECT_EQ(some.front().offset, (count / 3) * 300 - 150);
    EXPECT_EQ(some.front().slice, 50U);
    EXPECT_EQ(some.front().length, 50U);
  }
}

TEST_F(RecipeTest, copies_of_a_node_lead_to_places_of_their_own) {
  Node node{.height = 0, .span = 100, .entries = {chunk(0, 100, 1)}};
  node.entries[0].chunk.at = {.volume = 0, .container = 7, .offset = 100};
  const ChunkRef first = *chunks_.put(ChunkKind::node, encode(node));
  node.entries[0].chunk.at = {.volume = 0, .container = 8, .offset = 200};
  const ChunkRef second = *chunks_.put(ChunkKind::node, encode(node));
  ASSERT_EQ(first.id, second.id);
  EXPECT_EQ(chunks_.node_in_memory(first), nullptr);
  EXPECT_EQ((*chunks_.node(first))->entries[0].chunk.at.container, 7U);
  EXPECT_EQ((*chunks_.node(second))->entries[0].chunk.at.container, 8U);
  EXPECT_EQ(chunks_.node_in_memory(first), *chunks_.node(first));
}

TEST_F(RecipeTest, nothing_is_said_of_holes) {
  RecipeBuilder builder(chunks_);
  ASSERT_TRUE(builder.add(chunk(1000, 100, 1)));
  ASSERT_TRUE(builder.add({.offset = 2000, .length = 50, .kind = EntryKind::plain, .slice = 0, .chunk = {}}));
  const Node top = *builder.finish();
  EXPECT_TRUE(pieces(top, 0, 1000).empty());
  EXPECT_TRUE(pieces(top, 1100, 2000).empty());
  EXPECT_TRUE(pieces(top, 2050, 1U << 30U).empty());
  EXPECT_EQ(pieces(top, 0, 5000).size(), 2U);
  EXPECT_EQ(builder.mapped(), 100U);
}

TEST_F(RecipeTest, what_files_have_in_common_they_share_wherever_it_is) {
  const auto made = [&](std::uint64_t shift, std::uint64_t first) {
    RecipeBuilder builder(chunks_);
    EXPECT_TRUE(builder.add(chunk(0, static_cast<std::uint32_t>(100 + shift), first)));
    for (std::uint64_t i = 1; i < 20'000; ++i) EXPECT_TRUE(builder.add(chunk(i * 100 + shift, 100, i)));
    EXPECT_TRUE(builder.finish());
  };
  made(0, 1'000'000);
  const ChunkCounts before = chunks_.counts();
  made(7, 2'000'000);
  const ChunkCounts after = chunks_.counts();
  EXPECT_LE(after.chunks_added - before.chunks_added, 4U) << "the nodes along its left edge";
  EXPECT_GT(after.chunks_found - before.chunks_found, 80U);
}

TEST_F(RecipeTest, a_hole_in_a_recipe_takes_out_its_range_alone) {
  RecipeBuilder builder(chunks_);
  constexpr std::uint64_t count = 20'000, size = 100 * count;
  for (std::uint64_t i = 0; i < count; ++i) ASSERT_TRUE(builder.add(chunk(i * 100, 100, i)));
  const Node top = *builder.finish();
  ASSERT_GE(top.height, 2);
  const auto bytes_of = [&](const Node& node, std::uint64_t begin, std::uint64_t end) {
    std::uint64_t sum = 0;
    for (const RecipePiece& piece : pieces(node, begin, end)) {
      EXPECT_EQ(piece.slice, piece.offset % 100);
      sum += piece.length;
    }
    return sum;
  };
  const std::uint64_t far = std::numeric_limits<std::uint64_t>::max();
  const std::pair<std::uint64_t, std::uint64_t> holes[] = {
      {0, 1}, {0, 100}, {50, 70}, {99, 101}, {1000, size / 2 + 3}, {size - 1, size}, {size / 3, far}};
  for (const auto& [begin, end] : holes) {
    const auto left = without_range(chunks_, top, begin, end);
    ASSERT_TRUE(left) << begin;
    ASSERT_TRUE(is_sound(*left)) << begin;
    EXPECT_EQ(bytes_of(*left, 0, begin), begin) << begin;
    EXPECT_EQ(bytes_of(*left, begin, std::min(end, size)), 0U) << begin;
    EXPECT_EQ(bytes_of(*left, std::min(end, size), size), size - std::min(end, size)) << begin;
    if (end >= size) {
      EXPECT_EQ(left->span, begin) << "what is behind its last byte counts for nothing";
    }
  }
  EXPECT_TRUE(without_range(chunks_, top, 0, far)->entries.empty());
}

TEST_F(RecipeTest, nodes_that_are_full_become_two) {
  RecipeBuilder builder(chunks_);
  for (std::uint64_t i = 0; i < 20'000; ++i) ASSERT_TRUE(builder.add(chunk(i * 100, 100, i)));
  Node top = *builder.finish();
  const std::uint64_t nodes = top.entries.size();
  std::uint64_t holes = 0;
  for (std::uint64_t at = 50; at < 200'000; at += 100, ++holes) {
    auto left = without_range(chunks_, top, at, at + 10);
    ASSERT_TRUE(left) << at;
    top = std::move(*left);
  }
  EXPECT_GE(top.entries.size(), nodes);
  std::uint64_t sum = 0;
  for (const RecipePiece& piece : pieces(top, 0, 2'000'000)) sum += piece.length;
  EXPECT_EQ(sum, 2'000'000 - 10 * holes);
}

TEST_F(RecipeTest, with_something_replaced_it_is_as_if_it_had_been_made_so) {
  constexpr std::uint64_t count = 20'000;
  for (const unsigned holes_one_in : {1'000'000U, 7U}) {
    const auto entry = [&](std::uint64_t i, std::uint64_t first) { return chunk(i * 100, 100, first + i); };
    const auto is_hole = [&](std::uint64_t i) { return i % holes_one_in == 3; };
    RecipeBuilder old(chunks_);
    for (std::uint64_t i = 0; i < count; ++i) ASSERT_TRUE(is_hole(i) || old.add(entry(i, 0)));
    const RevisedRecipe before{*old.finish(), old.mapped()};
    using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // of entries
    const Ranges all[] = {{},
                          {{0, 1}},
                          {{5, 5}},
                          {{count - 1, count}},
                          {{count, count + 500}},
                          {{0, count}},
                          {{100, 900}, {900, 1500}, {7000, 7001}, {count - 3000, count - 10}}};
    for (const Ranges& ranges : all)
      for (const std::uint64_t size : {count + 500, count, count - 5, std::uint64_t{8000}}) {
        std::vector<Extent> extents;
        for (const auto& [begin, end] : ranges)
          if (end <= size) extents.push_back({begin * 100, end * 100});
        RecipeBuilder anew(chunks_);
        std::size_t next = 0;
        for (std::uint64_t i = 0; i < size; ++i) {
          while (next < extents.size() && extents[next].end <= i * 100) ++next;
          const bool is_new = next < extents.size() && extents[next].begin <= i * 100;
          if (is_new || (i < count && !is_hole(i))) {
            ASSERT_TRUE(anew.add(entry(i, is_new ? 1'000'000 : 0)));
          }
        }
        const auto got =
            with_replaced(chunks_, before, extents, size * 100, [&](std::size_t index, RecipeBuilder& out) {
              base::Result<void> done;
              for (auto i = extents[index].begin / 100; i < extents[index].end / 100; ++i)
                if (done) done = out.add(entry(i, 1'000'000));
              return done;
            });
        ASSERT_TRUE(got);
        EXPECT_EQ(got->top, *anew.finish()) << ranges.size() << " ranges, size " << size;
        EXPECT_EQ(got->mapped, anew.mapped()) << ranges.size() << " ranges, size " << size;
      }
  }
}

TEST_F(RecipeTest, what_stays_of_a_long_one_is_not_looked_at) {
  RecipeBuilder old(chunks_);
  constexpr std::uint64_t count = 60'000;
  for (std::uint64_t i = 0; i < count; ++i) ASSERT_TRUE(old.add(chunk(i * 100, 100, i)));
  const RevisedRecipe before{*old.finish(), old.mapped()};
  const ChunkCounts counts = chunks_.counts();
  const Extent behind[] = {{count * 100, count * 100 + 100}};
  const auto got =
      with_replaced(chunks_, before, behind, count * 100 + 100,
                    [&](std::size_t, RecipeBuilder& out) { return out.add(chunk(count * 100, 100, count)); });
  ASSERT_TRUE(got);
  const ChunkCounts after = chunks_.counts();
  EXPECT_LE(after.chunks_found + after.chunks_added - counts.chunks_found - counts.chunks_added, 4U)
      << "nodes along its right edge";
  EXPECT_EQ(chunks_.node_in_memory(before.top.entries.front().chunk), nullptr) << "nobody has read it";
}

TEST_F(RecipeTest, a_node_that_is_lost_is_an_error_or_told) {
  RecipeBuilder builder(chunks_);
  for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_TRUE(builder.add(chunk(i * 100, 100, i)));
  Node top = *builder.finish();
  ASSERT_EQ(top.height, 1);
  NodeEntry& lost = top.entries[1];
  lost.chunk.id.bytes[5] ^= std::byte{1};
  const auto take = [](const RecipePiece&) { return base::Result<void>(); };
  EXPECT_EQ(walk_recipe(chunks_, top, 0, 100'000, take).error(), base::errno_of(EIO));
  EXPECT_TRUE(walk_recipe(chunks_, top, 0, lost.offset, take)) << "before it all is well";
  std::map<std::uint64_t, std::uint64_t> told;
  EXPECT_TRUE(
      walk_whole(chunks_, top, [&](std::uint64_t at, std::uint64_t length) { told[at] = length; }, take));
  EXPECT_EQ(told, (std::map<std::uint64_t, std::uint64_t>{{lost.offset, lost.length}}));
  // A node in another one's place, which is as it should be itself.
  Node mixed = top;
  mixed.entries[1].chunk = mixed.entries[0].chunk;
  ASSERT_NE(mixed.entries[0].length, mixed.entries[1].length);
  EXPECT_FALSE(walk_recipe(chunks_, mixed, 0, 100'000, take));
}

}  // namespace
}  // namespace braid::store::test
