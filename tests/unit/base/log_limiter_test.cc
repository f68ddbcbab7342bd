#include "base/log_limiter.h"

#include <gtest/gtest.h>

namespace braid::base {
namespace {

constexpr TimePoint begin{std::chrono::hours(1)};

TEST(LogLimiterTest, one_line_a_minute_is_due) {
  LogLimiter limiter;
  EXPECT_TRUE(limiter.due(begin));
  EXPECT_FALSE(limiter.due(begin));
  EXPECT_FALSE(limiter.due(begin + LogLimiter::pause - Duration(1)));
  EXPECT_TRUE(limiter.due(begin + LogLimiter::pause));
}

TEST(LineQuotaTest, an_event_has_so_many_lines_a_minute) {
  LineQuota quota;
  for (unsigned line = 0; line < LineQuota::lines_max; ++line) EXPECT_EQ(quota.admit(begin), 0U);
  for (int line = 0; line < 3; ++line) EXPECT_EQ(quota.admit(begin), std::nullopt);
  EXPECT_EQ(quota.admit(begin + LogLimiter::pause), 3U) << "those that were left out";
  EXPECT_EQ(quota.admit(begin + LogLimiter::pause), 0U);
}

TEST(LineQuotaTest, a_source_leaves_half_of_what_is_left_to_others) {
  constexpr LogSource loud(1), quiet(2);
  LineQuota quota;
  unsigned of_loud = 0;
  for (unsigned line = 0; line < 2 * LineQuota::lines_max; ++line)
    of_loud += quota.admit(begin, loud) ? 1U : 0U;
  EXPECT_EQ(of_loud, LineQuota::lines_max / 3);
  EXPECT_EQ(quota.admit(begin, quiet), 2 * LineQuota::lines_max - of_loud)
      << "which says how many were left out";
  for (unsigned line = 1; line < LineQuota::share_min; ++line) EXPECT_EQ(quota.admit(begin, quiet), 0U);
  EXPECT_EQ(quota.admit(begin + LogLimiter::pause, loud), 0U);
}

TEST(LineQuotaTest, many_sources_have_no_more_lines_than_an_event_has) {
  LineQuota quota;
  unsigned written = 0;
  for (std::uint64_t source = 1; source <= 2 * LineQuota::lines_max; ++source)
    written += quota.admit(begin, LogSource(source)) ? 1U : 0U;
  EXPECT_EQ(written, LineQuota::lines_max);
}

TEST(LogLimiterTest, a_line_tells_of_what_was_counted_since_the_last_one) {
  LogLimiter limiter;
  EXPECT_EQ(limiter.news(0, begin), 0U);
  EXPECT_EQ(limiter.news(3, begin), 3U);
  EXPECT_EQ(limiter.news(5, begin), 0U);
  EXPECT_EQ(limiter.news(7, begin + LogLimiter::pause), 4U);
  EXPECT_EQ(limiter.news(7, begin + 2 * LogLimiter::pause), 0U) << "nothing new";
}

}  // namespace
}  // namespace braid::base
