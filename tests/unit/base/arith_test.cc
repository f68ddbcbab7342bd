#include "base/arith.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace braid::base {
namespace {

constexpr std::uint64_t top = std::numeric_limits<std::uint64_t>::max();

TEST(Arith, a_sum_that_fits_is_returned) { EXPECT_EQ(add<std::uint64_t>(top - 1, 1), top); }

TEST(Arith, a_sum_that_overflows_is_nothing) {
  EXPECT_EQ(add<std::uint64_t>(top, 1), std::nullopt);
  EXPECT_EQ(add<std::uint32_t>(0x80000000u, 0x80000000u), std::nullopt);
  EXPECT_EQ(add<std::uint8_t>(200, 56), std::nullopt);
}

TEST(Arith, a_product_that_overflows_is_nothing) {
  EXPECT_EQ(multiply<std::uint32_t>(0x10000, 0xffff), 0xffff0000u);
  EXPECT_EQ(multiply<std::uint32_t>(0x10000, 0x10000), std::nullopt);
}

TEST(Arith, the_end_of_an_interval_may_touch_the_limit_but_not_pass_it) {
  EXPECT_EQ(end_of<std::uint64_t>(10, 5, 15), 15u);
  EXPECT_EQ(end_of<std::uint64_t>(10, 6, 15), std::nullopt);
  EXPECT_EQ(end_of<std::uint64_t>(16, 0, 15), std::nullopt);
}

TEST(Arith, the_end_of_an_interval_does_not_wrap_around) {
  EXPECT_EQ(end_of<std::uint64_t>(top - 3, 3), top);
  EXPECT_EQ(end_of<std::uint64_t>(top - 3, 4), std::nullopt);
}

TEST(Arith, rounding_up_gives_the_next_multiple_or_nothing) {
  EXPECT_EQ(round_up<std::uint32_t>(0, 4), 0u);
  EXPECT_EQ(round_up<std::uint32_t>(5, 4), 8u);
  EXPECT_EQ(round_up<std::uint32_t>(8, 4), 8u);
  EXPECT_EQ(round_up<std::uint32_t>(0xfffffffc, 4), 0xfffffffcu);
  EXPECT_EQ(round_up<std::uint32_t>(0xfffffffd, 4), std::nullopt);
}

TEST(Arith, narrowing_keeps_the_value_or_gives_nothing) {
  EXPECT_EQ((narrow<std::uint32_t>(std::uint64_t{0xffffffff})), 0xffffffffu);
  EXPECT_EQ((narrow<std::uint32_t>(std::uint64_t{0x100000000})), std::nullopt);
  EXPECT_EQ((narrow<std::uint32_t>(-1)), std::nullopt);
  EXPECT_EQ((narrow<std::int8_t>(127)), 127);
  EXPECT_EQ((narrow<std::int8_t>(128)), std::nullopt);
}

}  // namespace
}  // namespace braid::base
