#include "io/gate.h"

#include <gtest/gtest.h>

namespace braid::io {
namespace {

struct Parked {
  std::coroutine_handle<>& waiter;
  [[nodiscard]] bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) { waiter = handle; }
  void await_resume() const {}
};

TEST(GateTest, drained_waits_for_the_last_piece_of_work) {
  ReadyQueue queue;
  ReadyQueue::make_current(&queue);
  Gate gate;
  std::coroutine_handle<> first;
  std::coroutine_handle<> second;
  auto work = [](std::coroutine_handle<>& waiter) -> Op<> { co_await Parked{waiter}; };
  spawn(gate, work(first));
  spawn(gate, work(second));
  EXPECT_EQ(gate.count(), 2U);
  bool drained = false;
  auto wait = [](Gate& waited, bool& done) -> Op<> {
    co_await waited.drained();
    done = true;
  };
  gate.close();
  Op<> waiting = wait(gate, drained);
  waiting.start({});
  for (std::coroutine_handle<>* each : {&first, &second}) {
    EXPECT_FALSE(drained);
    each->resume();
    while (queue.run(1) != 0) {
    }
  }
  EXPECT_TRUE(drained);
  EXPECT_EQ(gate.count(), 0U);
}

TEST(GateTest, an_empty_gate_is_drained_at_once) {
  ReadyQueue queue;
  ReadyQueue::make_current(&queue);
  Gate gate;
  EXPECT_TRUE(gate.drained().await_ready());
}

}  // namespace
}  // namespace braid::io
