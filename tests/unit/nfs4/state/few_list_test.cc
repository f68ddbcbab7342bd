// A list that most have nothing in, or one.
#include "nfs4/state/few_list.h"

#include <gmock/gmock.h>

#include <array>
#include <vector>

namespace braid::nfs4::state::test {
namespace {

using testing::ElementsAre;

class FewListTest : public testing::Test {
 protected:
  [[nodiscard]] std::vector<int*> listed() const { return {list_.begin(), list_.end()}; }

  std::array<int, 4> all_{};
  int* const a_ = all_.data();
  int* const b_ = &all_[1];
  int* const c_ = &all_[2];
  FewList<int> list_;
};

TEST_F(FewListTest, keeps_the_order_that_it_is_given) {
  EXPECT_TRUE(list_.empty());
  list_.push_back(b_);
  EXPECT_EQ(list_.size(), 1U);
  list_.insert(0, a_);
  EXPECT_THAT(listed(), ElementsAre(a_, b_));
  list_.insert(2, c_);
  EXPECT_THAT(listed(), ElementsAre(a_, b_, c_));
  EXPECT_EQ(list_[1], b_);
  EXPECT_EQ(list_.back(), c_);
}

TEST_F(FewListTest, becomes_one_and_none_again) {
  for (int* const one : {a_, b_, c_}) list_.push_back(one);
  list_.remove(b_);
  EXPECT_THAT(listed(), ElementsAre(a_, c_));
  list_.erase(0);
  EXPECT_THAT(listed(), ElementsAre(c_));
  list_.remove(c_);
  EXPECT_TRUE(list_.empty());
  list_.push_back(a_);
  EXPECT_THAT(listed(), ElementsAre(a_));
}

TEST_F(FewListTest, the_last_takes_a_place) {
  for (int* const one : {a_, b_, c_}) list_.push_back(one);
  list_.erase_by_last(0);
  EXPECT_THAT(listed(), ElementsAre(c_, b_));
  list_.erase_by_last(1);
  EXPECT_THAT(listed(), ElementsAre(c_));
  list_.erase_by_last(0);
  EXPECT_TRUE(list_.empty());
}

}  // namespace
}  // namespace braid::nfs4::state::test
