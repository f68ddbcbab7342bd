#include "rpc/memory_budget.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/unit/rpc/loop.h"

namespace braid::rpc {
namespace {

constexpr std::size_t budget_bytes = 4 * base::MiB;

class MemoryBudgetTest : public testing::Test {
 protected:
  base::SystemClock clock_;
  MemoryBudget budget_{budget_bytes};
};

TEST_F(MemoryBudgetTest, a_share_admits_until_the_common_limit) {
  test::Loop loop(clock_);
  BudgetShare share(budget_, loop.reactor());
  share.take(budget_bytes - 1);
  EXPECT_TRUE(share.admits());
  share.take(1);
  EXPECT_FALSE(share.admits());
  share.give(1);
  EXPECT_TRUE(share.admits());
  share.give(budget_bytes - 1);
}

TEST_F(MemoryBudgetTest, one_share_fills_the_budget_of_all) {
  test::Loop loop(clock_);
  BudgetShare one(budget_, loop.reactor());
  BudgetShare other(budget_, loop.reactor());
  one.take(budget_bytes);
  other.take(1);
  EXPECT_FALSE(other.admits());
  one.give(budget_bytes);
  EXPECT_TRUE(other.admits());
  other.give(1);
}

TEST_F(MemoryBudgetTest, a_share_that_holds_nothing_is_always_admitted) {
  test::Loop loop(clock_);
  BudgetShare one(budget_, loop.reactor());
  BudgetShare other(budget_, loop.reactor());
  one.take(2 * budget_bytes);
  EXPECT_TRUE(other.admits());
  one.give(2 * budget_bytes);
}

TEST_F(MemoryBudgetTest, an_ended_share_leaves_nothing_behind) {
  test::Loop loop(clock_);
  {
    BudgetShare share(budget_, loop.reactor());
    share.take(1000);
    share.give(1000);
    share.take(300 * base::KiB);
    share.give(300 * base::KiB);
  }
  EXPECT_EQ(budget_.used(), 0);
}

TEST_F(MemoryBudgetTest, a_waiter_is_woken_when_another_thread_gives_back) {
  test::ReactorThread waiting(clock_);
  test::ReactorThread giving(clock_);
  std::optional<BudgetShare> own(std::in_place, budget_, waiting.reactor());
  std::optional<BudgetShare> other(std::in_place, budget_, giving.reactor());
  giving.call([&] { other->take(budget_bytes); });
  std::promise<bool> woken;
  waiting.call([&] {
    own->take(1);
    EXPECT_FALSE(own->admits());
    own->wait({[](void* promise) { static_cast<std::promise<bool>*>(promise)->set_value(true); }, &woken});
  });
  giving.call([&] { other->give(1000); });  // far less than a step, but somebody waits
  EXPECT_TRUE(woken.get_future().get());
  EXPECT_TRUE(waiting.call([&] { return own->admits(); }));
  giving.call([&] { other->give(budget_bytes - 1000); });
  waiting.call([&] { own->give(1); });
  giving.call([&] { other.reset(); });
  waiting.call([&] { own.reset(); });
}

}  // namespace
}  // namespace braid::rpc
