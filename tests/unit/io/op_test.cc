#include "io/op.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace braid::io {
namespace {

// Suspends until the test resumes it.
struct Suspension {
  std::coroutine_handle<> waiter;
  auto wait() {
    struct Awaiter {
      Suspension& suspension;
      [[nodiscard]] bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> handle) { suspension.waiter = handle; }
      void await_resume() const {}
    };
    return Awaiter{*this};
  }
};

class OpTest : public testing::Test {
 protected:
  OpTest() { ReadyQueue::make_current(&queue_); }
  ~OpTest() override { ReadyQueue::make_current(nullptr); }
  void resume(Suspension& suspension) {
    std::exchange(suspension.waiter, nullptr).resume();
    while (queue_.run(1) != 0) {
    }
  }
  ReadyQueue queue_;
};

Op<int> value(int number) { co_return number; }
Op<int> failing(int error) { co_return base::fail(error); }
Op<> failing_void() { co_await base::fail(EACCES); }
Op<int> after(Suspension& suspension, Result<int> result) {
  co_await suspension.wait();
  co_return result;
}
Op<int> plus_one(Op<int> child) { co_return co_await std::move(child) + 1; }
Op<int> looked_at(Op<int> child) {
  Result<int> result = co_await std::move(child).as_result();
  co_return result ? *result : -base::number_of(result.error());
}

TEST_F(OpTest, nothing_runs_before_it_is_awaited) {
  bool ran = false;
  auto body = [](bool& flag) -> Op<> {
    flag = true;
    co_return;
  };
  Op<> op = body(ran);
  EXPECT_FALSE(ran);
  op.start({});
  EXPECT_TRUE(ran);
}

TEST_F(OpTest, a_child_that_ends_at_once_does_not_suspend_its_parent) {
  Op<int> op = plus_one(value(41));
  op.start({});
  ASSERT_TRUE(op.done());
  EXPECT_EQ(op.result().value(), 42);
}

TEST_F(OpTest, a_ready_op_has_its_value_without_a_frame) {
  Op<std::string> op(std::string("here"));
  EXPECT_TRUE(op.done());
  EXPECT_EQ(*op.result(), "here");
}

TEST_F(OpTest, an_error_of_a_child_ends_the_parent) {
  Op<int> op = plus_one(failing(ENOENT));
  op.start({});
  ASSERT_TRUE(op.done());
  EXPECT_EQ(op.result().error(), base::errno_of(ENOENT));
}

TEST_F(OpTest, a_late_error_ends_every_ancestor_that_does_not_look) {
  Suspension suspension;
  Op<int> op = looked_at(plus_one(plus_one(after(suspension, base::fail(EIO)))));
  op.start({});
  ASSERT_FALSE(op.done());
  resume(suspension);
  ASSERT_TRUE(op.done());
  EXPECT_EQ(op.result().value(), -EIO);
}

TEST_F(OpTest, a_late_value_resumes_the_parent) {
  Suspension suspension;
  Op<int> op = plus_one(plus_one(after(suspension, 5)));
  op.start({});
  resume(suspension);
  EXPECT_EQ(op.result().value(), 7);
}

TEST_F(OpTest, awaiting_a_failure_ends_a_void_op) {
  Op<> op = failing_void();
  op.start({});
  EXPECT_EQ(op.result().error(), base::errno_of(EACCES));
}

TEST_F(OpTest, locals_are_destroyed_when_an_error_ends_the_coroutine) {
  auto token = std::make_shared<int>(1);
  {
    auto body = [](std::shared_ptr<int> held) -> Op<int> {
      int got = co_await failing(EIO);
      co_return got + *held;
    };
    Op<int> op = body(token);
    op.start({});
    EXPECT_TRUE(op.done());
  }
  EXPECT_EQ(token.use_count(), 1);
}

TEST_F(OpTest, awaiting_many_children_does_not_grow_the_stack) {
  auto sum = [](int count) -> Op<int> {
    int total = 0;
    for (int i = 0; i < count; ++i) total += co_await value(1);
    co_return total;
  };
  Op<int> op = sum(300'000);
  op.start({});
  EXPECT_EQ(op.result().value(), 300'000);
}

TEST_F(OpTest, an_error_type_of_ones_own_travels) {
  enum class Wrong { a, b };
  auto inner = []() -> Op<int, Wrong> { co_return Failure<Wrong>(Wrong::b); };
  auto outer = [&]() -> Op<int, Wrong> { co_return co_await inner() + 1; };
  Op<int, Wrong> op = outer();
  op.start({});
  EXPECT_EQ(op.result().error(), Wrong::b);
}

}  // namespace
}  // namespace braid::io
