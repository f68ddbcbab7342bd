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
