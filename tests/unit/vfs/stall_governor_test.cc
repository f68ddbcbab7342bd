#include "vfs/posix/stall_governor.h"

#include <gtest/gtest.h>

namespace braid::vfs::posix {
namespace {

using namespace std::chrono_literals;

class StallGovernorTest : public testing::Test {
 protected:
  [[nodiscard]] bool inline_now(Call call = Call::lookup) const {
    return governor_.may_run_inline(call, now_);
  }
  void ran(base::Duration took, Call call = Call::lookup) {
    now_ += took;
    governor_.ran_inline(call, took, now_);
  }

  StallGovernor governor_;
  base::TimePoint now_{1s};
};

TEST_F(StallGovernorTest, fast_calls_stay_inline) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(inline_now());
    ran(2ms);
  }
  EXPECT_EQ(governor_.stalls(), 0U);
}

TEST_F(StallGovernorTest, a_slow_call_sends_its_kind_to_the_pool_for_a_while) {
  ran(2ms + 1ns);
  EXPECT_FALSE(inline_now());
  EXPECT_TRUE(inline_now(Call::read));
  now_ += 100ms - 1ns;
  EXPECT_FALSE(inline_now());
  now_ += 1ns;
  EXPECT_TRUE(inline_now());
  EXPECT_EQ(governor_.stalls(), 1U);
}

TEST_F(StallGovernorTest, the_pause_doubles_while_calls_stay_slow_up_to_a_limit) {
  base::Duration pause = 100ms;
  for (int i = 0; i < 12; ++i) {
    ran(5ms);
    now_ += pause - 1ns;
    EXPECT_FALSE(inline_now()) << i;
    now_ += 1ns;
    EXPECT_TRUE(inline_now()) << i;
    pause = std::min<base::Duration>(2 * pause, 10s);
  }
  EXPECT_EQ(pause, 10s);
}

TEST_F(StallGovernorTest, one_fast_call_forgets_the_doubling) {
  for (int i = 0; i < 4; ++i) {
    ran(5ms);
    now_ += 10s;
  }
  ran(1us);
  ran(5ms);
  now_ += 100ms;
  EXPECT_TRUE(inline_now());
}

}  // namespace
}  // namespace braid::vfs::posix
