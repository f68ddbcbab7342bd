#include "pnfs/striping.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace braid::pnfs {
namespace {

constexpr std::uint32_t unit = Striping::unit_min;

std::vector<Striping> layouts() {
  std::vector<Striping> out;
  for (const Packing packing : {Packing::sparse, Packing::dense})
    for (std::uint32_t width : {1U, 2U, 3U, 5U})
      for (std::uint32_t first = 0; first < width; ++first)
        out.push_back({.unit = unit, .width = width, .first = first, .packing = packing});
  return out;
}

std::string name_of(const Striping& layout) {
  return std::to_string(layout.width) + " objects, first " + std::to_string(layout.first) +
         (layout.packing == Packing::dense ? ", dense" : ", sparse");
}

// Offsets where something changes, in the first stripes.
std::vector<std::uint64_t> offsets_of(const Striping& layout) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t number = 0; number < 3ULL * layout.width + 2; ++number)
    for (const std::uint64_t within : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{unit - 1}})
      out.push_back(number * unit + within);
  return out;
}

TEST(StripingTest, stripe_units_go_round_the_objects_from_the_first_on) {
  const Striping layout{.unit = unit, .width = 4, .first = 2};
  EXPECT_EQ(layout.index_of(0), 2U);
  EXPECT_EQ(layout.index_of(unit - 1), 2U);
  EXPECT_EQ(layout.index_of(unit), 3U);
  EXPECT_EQ(layout.index_of(2ULL * unit), 0U);
  EXPECT_EQ(layout.index_of(4ULL * unit), 2U);
}

TEST(StripingTest, a_dense_object_has_its_stripe_units_one_behind_the_other) {
  const Striping layout{.unit = unit, .width = 4, .first = 2, .packing = Packing::dense};
  EXPECT_EQ(layout.to_object(0), 0U);
  EXPECT_EQ(layout.to_object(unit + 5), 5U);
  EXPECT_EQ(layout.to_object(4ULL * unit), unit);
  EXPECT_EQ(layout.to_object(9ULL * unit + 7), 2ULL * unit + 7);
}

TEST(StripingTest, the_own_bytes_of_an_object_are_those_that_have_a_place_in_the_file) {
  for (const Striping& layout : layouts()) {
    SCOPED_TRACE(name_of(layout));
    for (std::uint32_t index = 0; index < layout.width; ++index)
      for (std::uint64_t at = 0; at < 8ULL * unit; at += unit / 2) {
        const auto own = layout.own_from(index, at);
        ASSERT_TRUE(own);
        ASSERT_GE(*own, at);
        ASSERT_TRUE(layout.to_file(index, *own));
        if (*own > at) {
          EXPECT_FALSE(layout.to_file(index, at));
          EXPECT_FALSE(layout.to_file(index, *own - 1));
        }
        const std::uint64_t end = layout.own_end(*own);
        ASSERT_GT(end, *own);
        if (end == Striping::offset_max) continue;
        EXPECT_TRUE(layout.to_file(index, end - 1));
        EXPECT_FALSE(layout.to_file(index, end));
      }
    EXPECT_FALSE(layout.own_from(layout.width, 0));
    EXPECT_FALSE(layout.own_from(0, Striping::offset_max + 1));
  }
  const Striping two{.unit = unit, .width = 2, .first = 0};
  EXPECT_FALSE(two.own_from(0, Striping::offset_max)) << "the next one is behind the end";
  EXPECT_EQ(two.own_from(1, Striping::offset_max), Striping::offset_max);
}

TEST(StripingTest, each_byte_of_a_file_has_one_place_and_comes_back_from_it) {
  for (const Striping& layout : layouts()) {
    SCOPED_TRACE(name_of(layout));
    ASSERT_TRUE(layout.valid());
    for (const std::uint64_t offset : offsets_of(layout)) {
      const std::uint32_t index = layout.index_of(offset);
      ASSERT_LT(index, layout.width);
      EXPECT_EQ(layout.to_file(index, layout.to_object(offset)), offset);
      if (layout.packing == Packing::sparse) {
        EXPECT_EQ(layout.to_object(offset), offset);
        for (std::uint32_t other = 0; other < layout.width; ++other)
          if (other != index) {
            EXPECT_FALSE(layout.to_file(other, offset));
          }
      }
    }
  }
}

TEST(StripingTest, pieces_cover_a_range_without_gap) {
  for (const Striping& layout : layouts()) {
    SCOPED_TRACE(name_of(layout));
    for (const std::uint64_t begin : offsets_of(layout)) {
      const std::uint64_t end = begin + 4ULL * unit + 3;
      std::uint64_t at = begin;
      while (at < end) {
        const ObjectRange piece = layout.piece(at, end - at);
        ASSERT_GT(piece.length, 0U);
        ASSERT_LE(piece.length, end - at);
        EXPECT_EQ(layout.to_file(piece.index, piece.offset), at);
        EXPECT_EQ(layout.to_file(piece.index, piece.offset + piece.length - 1), at + piece.length - 1);
        at += piece.length;
      }
    }
  }
}

TEST(StripingTest, one_object_has_all_of_a_range_in_one_piece) {
  const Striping layout{.unit = unit, .width = 1};
  EXPECT_EQ(layout.piece(5, 10ULL * unit), (ObjectRange{0, 5, 10ULL * unit}));
}

// What the objects of a file of each size have is computed byte by byte from where their units lie.
TEST(StripingTest, sizes_follow_from_objects_and_objects_from_sizes) {
  for (const Striping& layout : layouts()) {
    SCOPED_TRACE(name_of(layout));
    for (const std::uint64_t size : offsets_of(layout)) {
      std::vector<std::uint64_t> ends(layout.width, 0);
      for (std::uint64_t at = 0; at < size;) {
        const ObjectRange piece = layout.piece(at, size - at);
        ends[piece.index] = std::max(ends[piece.index], piece.offset + piece.length);
        at += piece.length;
      }
      std::uint64_t largest = 0;
      for (std::uint32_t index = 0; index < layout.width; ++index) {
        const auto least = layout.file_end(index, ends[index]);
        ASSERT_TRUE(least);
        EXPECT_LE(*least, size);
        largest = std::max(largest, *least);
        EXPECT_GE(layout.object_end(index, size), ends[index]);
        if (layout.packing == Packing::dense) {
          EXPECT_EQ(layout.object_end(index, size), ends[index]);
        }
      }
      EXPECT_EQ(largest, size);
    }
  }
}

TEST(StripingTest, offsets_behind_the_largest_have_no_place) {
  for (const Striping& layout : layouts()) {
    SCOPED_TRACE(name_of(layout));
    constexpr std::uint64_t most = Striping::offset_max;
    const std::uint32_t last = layout.index_of(most);
    EXPECT_EQ(layout.to_file(last, layout.to_object(most)), most);
    EXPECT_FALSE(layout.to_file(last, most + 1));
    EXPECT_FALSE(layout.to_file(layout.width, 0));
    EXPECT_FALSE(layout.file_end(layout.width, 0));
    EXPECT_FALSE(layout.file_end(last, most + 1));
    EXPECT_FALSE(layout.file_end(last, std::numeric_limits<std::uint64_t>::max()));
    if (layout.packing == Packing::dense && layout.width > 1) {
      EXPECT_FALSE(layout.file_end(last, most));
    }
    const ObjectRange piece = layout.piece(most, std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(piece.index, last);
  }
}

TEST(StripingTest, only_what_a_client_can_compute_is_valid) {
  EXPECT_TRUE((Striping{.unit = unit, .width = Striping::width_max, .first = 55}.valid()));
  EXPECT_FALSE((Striping{.unit = unit, .width = Striping::width_max + 1}.valid()));
  EXPECT_FALSE((Striping{.unit = unit, .width = 0}.valid()));
  EXPECT_FALSE((Striping{.unit = unit, .width = 2, .first = 2}.valid()));
  EXPECT_FALSE((Striping{.unit = unit - 4096, .width = 2}.valid()));
  EXPECT_FALSE((Striping{.unit = unit + 512, .width = 2}.valid()));
  EXPECT_FALSE((Striping{.unit = 0, .width = 2}.valid()));
  EXPECT_TRUE((Striping{.unit = Striping::unit_max, .width = 4}.valid()));
  EXPECT_FALSE((Striping{.unit = Striping::unit_max, .width = 4, .packing = Packing::dense}.valid()));
  EXPECT_TRUE((Striping{.unit = Striping::unit_max, .width = 3, .packing = Packing::dense}.valid()));
}

}  // namespace
}  // namespace braid::pnfs
