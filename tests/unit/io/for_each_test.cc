#include "io/for_each.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <coroutine>
#include <map>
#include <set>
#include <vector>

namespace braid::io {
namespace {

using testing::ElementsAre;

// Work that waits until the test lets it go on.
class ForEachTest : public testing::Test {
 protected:
  struct Parked {
    std::coroutine_handle<>& waiter;
    [[nodiscard]] bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> handle) { waiter = handle; }
    void await_resume() const {}
  };
  ForEachTest() { ReadyQueue::make_current(&queue_); }
  Op<> work(std::size_t worker, std::size_t item) {
    begun_.push_back(item);
    EXPECT_TRUE(busy_.insert(worker).second) << "one item at a time";
    co_await Parked{waiting_[item]};
    busy_.erase(worker);
  }
  Op<> all(std::size_t workers, std::size_t count) {
    const auto one = [this](std::size_t worker, std::size_t item) { return work(worker, item); };
    co_await for_each(workers, count, one);
    ended_ = true;
  }
  void end(std::size_t item) {
    waiting_.at(item).resume();
    while (queue_.run(1) != 0) {
    }
  }

  ReadyQueue queue_;
  std::vector<std::size_t> begun_;
  std::set<std::size_t> busy_;
  std::map<std::size_t, std::coroutine_handle<>> waiting_;
  bool ended_ = false;
};

TEST_F(ForEachTest, so_many_are_under_way_and_the_next_one_begins_when_one_ends) {
  Op<> running = all(2, 5);
  running.start({});
  EXPECT_THAT(begun_, ElementsAre(0, 1));
  end(1);
  EXPECT_THAT(begun_, ElementsAre(0, 1, 2));
  end(2);
  end(3);
  EXPECT_THAT(begun_, ElementsAre(0, 1, 2, 3, 4));
  end(4);
  EXPECT_FALSE(ended_);
  end(0);
  EXPECT_TRUE(ended_);
}

TEST_F(ForEachTest, of_fewer_items_than_workers_and_of_none_it_ends) {
  Op<> nothing = all(3, 0);
  nothing.start({});
  EXPECT_TRUE(ended_);
  ended_ = false;
  Op<> one = all(3, 1);
  one.start({});
  EXPECT_THAT(begun_, ElementsAre(0));
  end(0);
  EXPECT_TRUE(ended_);
}

}  // namespace
}  // namespace braid::io
