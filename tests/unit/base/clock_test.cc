#include "base/clock.h"

#include <gtest/gtest.h>

#include "base/manual/manual_clock.h"

namespace braid::base {
namespace {

using std::chrono::seconds;

TEST(ManualClock, both_times_move_by_the_same_duration_and_only_when_told) {
  ManualClock clock;
  const TimePoint start = clock.now();
  const WallTime start_wall = clock.wall();
  EXPECT_EQ(clock.now(), start);
  clock.advance(seconds(90));
  EXPECT_EQ(clock.now() - start, seconds(90));
  EXPECT_EQ(clock.wall() - start_wall, seconds(90));
}

TEST(ManualClock, recently_is_now) {
  ManualClock clock;
  clock.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(clock.recently(), clock.now());
}

TEST(WallTime, seconds_since_1970_and_back) {
  for (const std::uint64_t at :
       {std::uint64_t{0}, std::uint64_t{1'700'000'000}, std::uint64_t{4'600'000'000}})
    EXPECT_EQ(seconds_since_1970(wall_time_at(at)), at);
  EXPECT_EQ(seconds_since_1970(WallTime(seconds(7)) + std::chrono::milliseconds(999)), 7U);
  EXPECT_EQ(seconds_since_1970(WallTime(seconds(-7))), 0U);
}

TEST(WallTime, any_number_of_seconds_is_a_time_to_which_a_day_can_be_added) {
  const WallTime last = wall_time_at(UINT64_MAX);
  EXPECT_EQ(wall_time_at(INT64_MAX), last);
  EXPECT_GT(last, wall_time_at(4'600'000'000));
  EXPECT_GT(last + std::chrono::hours(24), last);
}

TEST(SystemClock, recently_lies_between_an_earlier_one_and_now) {
  const SystemClock clock;
  const TimePoint first = clock.recently();
  EXPECT_LE(first, clock.now());
  EXPECT_GT(first, clock.now() - std::chrono::hours(1));
  while (clock.recently() == first) {
  }
  EXPECT_GT(clock.recently(), first);
}

TEST(SystemClock, monotonic_time_never_goes_back) {
  const SystemClock clock;
  TimePoint last = clock.now();
  for (int i = 0; i < 1000; ++i) {
    const TimePoint next = clock.now();
    ASSERT_GE(next, last);
    last = next;
  }
}

}  // namespace
}  // namespace braid::base
