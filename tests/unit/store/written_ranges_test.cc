// Where a file was written to.
#include "store/content/written_ranges.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace braid::store::test {
namespace {

constexpr std::uint64_t grain = WrittenRanges::grain_bytes_min;
constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

TEST(WrittenRanges, nothing_is_noted_before_somebody_looks) {
  WrittenRanges written;
  written.note(0, 10);
  EXPECT_FALSE(written.is_on());
  written.begin();
  EXPECT_TRUE(written.all().empty());
  written.note(5, 6);
  EXPECT_EQ(written.all(), (std::vector<Extent>{{0, grain}}));
  written.end();
  EXPECT_TRUE(written.all().empty());
  written.note(5, 6);
  EXPECT_TRUE(written.all().empty());
}

TEST(WrittenRanges, they_are_whole_grains_in_order_and_apart) {
  WrittenRanges written;
  written.begin();
  written.note(5 * grain + 1, 5 * grain + 2);
  written.note(grain, 2 * grain);
  written.note(7, 7);
  EXPECT_EQ(written.all(), (std::vector<Extent>{{grain, 2 * grain}, {5 * grain, 6 * grain}}));
  written.note(2 * grain, 3 * grain + 1);
  EXPECT_EQ(written.all(), (std::vector<Extent>{{grain, 4 * grain}, {5 * grain, 6 * grain}}));
  written.note(3 * grain, 5 * grain);
  EXPECT_EQ(written.all(), (std::vector<Extent>{{grain, 6 * grain}}));
  written.note(0, 20 * grain);
  written.note(2 * grain, 3 * grain);
  EXPECT_EQ(written.all(), (std::vector<Extent>{{0, 20 * grain}}));
}

TEST(WrittenRanges, there_is_no_end_to_where_they_end) {
  WrittenRanges written;
  written.begin();
  written.note(grain + 1, largest);
  written.note(largest - 5, largest - 4);
  EXPECT_EQ(written.all(), (std::vector<Extent>{{grain, largest}}));
}

TEST(WrittenRanges, taken_they_begin_anew) {
  WrittenRanges written;
  written.begin();
  written.note(0, 1);
  EXPECT_EQ(written.take(), (std::vector<Extent>{{0, grain}}));
  EXPECT_TRUE(written.is_on());
  written.note(grain, grain + 1);
  EXPECT_EQ(written.take(), (std::vector<Extent>{{grain, 2 * grain}}));
  EXPECT_TRUE(written.take().empty());
}

TEST(WrittenRanges, of_too_many_none_is_missing) {
  WrittenRanges written;
  written.begin();
  std::vector<std::uint64_t> places;
  for (std::uint64_t i = 0; i < 10 * WrittenRanges::ranges_max; ++i) places.push_back(i * i * grain);
  for (const std::uint64_t place : places) written.note(place, place + 1);
  const std::vector<Extent> all = written.all();
  EXPECT_LE(all.size(), WrittenRanges::ranges_max);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1].end, all[i].begin);
  std::size_t at = 0;
  for (const std::uint64_t place : places) {
    while (at < all.size() && all[at].end <= place) ++at;
    ASSERT_LT(at, all.size());
    EXPECT_LE(all[at].begin, place);
  }
  EXPECT_LT(all.back().end - all.front().begin, 2 * (places.back() + grain)) << "not everything";
}

}  // namespace
}  // namespace braid::store::test
