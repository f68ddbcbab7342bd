#include "bench/load/histogram.h"

#include <gtest/gtest.h>

#include <chrono>

namespace braid::load {
namespace {

using namespace std::chrono_literals;

TEST(Histogram, an_empty_one_is_all_zeros) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.min(), 0ns);
  EXPECT_EQ(histogram.max(), 0ns);
  EXPECT_EQ(histogram.mean(), 0ns);
  EXPECT_EQ(histogram.quantile(0.5), 0ns);
}

TEST(Histogram, small_values_are_exact) {
  Histogram histogram;
  for (int i = 1; i <= 100; ++i) histogram.add(std::chrono::nanoseconds(i));
  EXPECT_EQ(histogram.quantile(0.5), 50ns);
  EXPECT_EQ(histogram.quantile(0.99), 99ns);
  EXPECT_EQ(histogram.quantile(0), 1ns);
  EXPECT_EQ(histogram.quantile(1), 100ns);
  EXPECT_EQ(histogram.min(), 1ns);
  EXPECT_EQ(histogram.mean(), 50ns);
}

TEST(Histogram, every_magnitude_keeps_an_error_below_one_percent) {
  for (std::int64_t value = 1; value < 40'000'000'000; value = value * 3 + 1) {
    Histogram histogram;
    histogram.add(std::chrono::nanoseconds(value));
    histogram.add(1h);  // the largest value alone would be exact
    const auto found = histogram.quantile(0.5).count();
    EXPECT_GE(found, value);
    EXPECT_LE(static_cast<double>(found), static_cast<double>(value) * 1.01) << value;
  }
}

TEST(Histogram, quantiles_follow_the_ranks_of_the_values) {
  Histogram histogram;
  for (int i = 0; i < 990; ++i) histogram.add(100us);
  for (int i = 0; i < 10; ++i) histogram.add(10ms);
  EXPECT_LT(histogram.quantile(0.99), 102us);
  EXPECT_GE(histogram.quantile(0.991), 10ms);
  EXPECT_EQ(histogram.max(), 10ms);
}

TEST(Histogram, values_beyond_its_range_still_count_and_show_as_the_maximum) {
  Histogram histogram;
  histogram.add(100h);
  EXPECT_EQ(histogram.count(), 1U);
  EXPECT_EQ(histogram.quantile(0.5), 100h);
}

TEST(Histogram, a_negative_duration_counts_as_none) {
  Histogram histogram;
  histogram.add(-5ns);
  EXPECT_EQ(histogram.max(), 0ns);
  EXPECT_EQ(histogram.count(), 1U);
}

TEST(Histogram, merging_is_the_same_as_adding_to_one) {
  Histogram one;
  Histogram other;
  Histogram both;
  for (int i = 1; i < 2000; i += 7) {
    const auto value = std::chrono::microseconds(i * i);
    (i % 2 == 0 ? one : other).add(value);
    both.add(value);
  }
  one.merge(other);
  EXPECT_EQ(one.count(), both.count());
  EXPECT_EQ(one.min(), both.min());
  EXPECT_EQ(one.max(), both.max());
  EXPECT_EQ(one.mean(), both.mean());
  for (const double fraction : {0.1, 0.5, 0.9, 0.99})
    EXPECT_EQ(one.quantile(fraction), both.quantile(fraction));
}

}  // namespace
}  // namespace braid::load
