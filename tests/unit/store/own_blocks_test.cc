#include "store/content/own_blocks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>

namespace braid::store {
namespace {

constexpr std::uint64_t block = OwnBlocks::block_bytes;

TEST(OwnBlocks, whole_blocks_are_kept) {
  std::atomic<std::size_t> groups{0};
  OwnBlocks blocks(groups);
  EXPECT_FALSE(blocks.has(0, 1));
  blocks.add(block + 1, 4 * block - 1);
  EXPECT_FALSE(blocks.has(block, 2 * block)) << "only a part of it was seen";
  EXPECT_TRUE(blocks.has(2 * block + 5, 3 * block));
  EXPECT_FALSE(blocks.has(2 * block, 3 * block + 1));
  blocks.clear();
  EXPECT_FALSE(blocks.has(2 * block, 3 * block));
  EXPECT_EQ(groups, 0U);
}

TEST(OwnBlocks, ranges_go_over_the_edges_of_groups) {
  std::atomic<std::size_t> groups{0};
  OwnBlocks blocks(groups);
  const std::uint64_t edge = 7 * block * OwnBlocks::blocks_per_group;
  blocks.add(edge - block, edge + block);
  EXPECT_EQ(groups, 2U);
  EXPECT_TRUE(blocks.has(edge - 1, edge + 1));
  EXPECT_FALSE(blocks.has(edge - 1, edge + block + 1));
  const std::uint64_t last = (std::uint64_t{1} << 63) - block;
  blocks.add(last, last + block);
  EXPECT_TRUE(blocks.has(last, last + block));
}

TEST(OwnBlocks, all_files_have_so_many_together) {
  std::atomic<std::size_t> groups{OwnBlocks::groups_max - 1};
  {
    OwnBlocks one(groups), other(groups);
    one.add(0, block);
    other.add(0, block);
    EXPECT_TRUE(one.has(0, block));
    EXPECT_FALSE(other.has(0, block)) << "there is no room";
    one.add(block, 2 * block);
    EXPECT_TRUE(one.has(0, 2 * block)) << "it has room of its own";
    EXPECT_EQ(groups, OwnBlocks::groups_max);
  }
  EXPECT_EQ(groups, OwnBlocks::groups_max - 1);
}

}  // namespace
}  // namespace braid::store
