// The queue of continuations that a thread runs: one per reactor, one per test that runs coroutines by hand.
#pragma once

#include <coroutine>
#include <cstddef>
#include <vector>

namespace braid::io {

// Something to call once: a function and its argument, or a suspended coroutine.
struct ReadyItem {
  void (*run)(void* argument) = nullptr;
  void* argument = nullptr;

  static ReadyItem of(std::coroutine_handle<> handle) {
    return {[](void* address) { std::coroutine_handle<>::from_address(address).resume(); }, handle.address()};
  }
};

// First in, first out; belongs to one thread. Items pushed while running are run in the same or the next
// call.
class ReadyQueue {
 public:
  ReadyQueue() = default;
  ReadyQueue(const ReadyQueue&) = delete;
  ReadyQueue& operator=(const ReadyQueue&) = delete;
  ~ReadyQueue();

  void push(ReadyItem item) { items_.push_back(item); }
  [[nodiscard]] bool empty() const { return head_ == items_.size(); }
  // Runs at most `budget` items; returns how many ran.
  std::size_t run(std::size_t budget);

  // The queue that continuations resumed on this thread go to; a thread that runs coroutines has exactly one.
  static ReadyQueue& current();
  // Makes this the calling thread's queue, or with nullptr takes it away.
  static void make_current(ReadyQueue* queue);

 private:
  std::vector<ReadyItem> items_;
  std::size_t head_ = 0;
};

}  // namespace braid::io
