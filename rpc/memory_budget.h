// How much memory all calls in progress may take, in bytes: what they arrived in plus the most they may
// answer, until their reply has left.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/guarded.h"
#include "io/reactor.h"

namespace braid::rpc {

// Shared by all workers; thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t bytes_max) : bytes_max_(static_cast<std::int64_t>(bytes_max)) {}

  // Who wants to know when there is room again: `wake` is posted to its reactor, once.
  struct Waiter {
    io::Reactor* reactor;
    io::ReadyItem wake;
  };

  [[nodiscard]] bool exhausted(std::int64_t unpublished = 0) const {
    return used_.load(std::memory_order_relaxed) + unpublished >= bytes_max_;
  }
  // Bytes that nobody has; 0 when more than there are have been given out.
  [[nodiscard]] std::int64_t left() const { return std::max<std::int64_t>(bytes_max_ - used(), 0); }
  [[nodiscard]] std::int64_t used() const { return used_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool awaited() const { return awaited_.load(std::memory_order_relaxed); }
  void add(std::int64_t bytes);
  void wait(const Waiter& waiter);
  // Nothing is posted to this reactor any more.
  void forget(const io::Reactor& reactor);

 private:
  void wake_all();

  const std::int64_t bytes_max_;
  std::atomic<std::int64_t> used_{0};
  std::atomic<bool> awaited_{false};
  base::Guarded<std::vector<Waiter>> waiters_;
};

// One worker's part of the account, so that small calls do not touch the shared counter: what was taken and
// given is published in steps, and at once when somebody waits. Belongs to one thread.
class BudgetShare {
 public:
  BudgetShare(MemoryBudget& budget, io::Reactor& reactor) : budget_(budget), reactor_(reactor) {}
  ~BudgetShare() {
    publish();
    budget_.forget(reactor_);
  }
  BudgetShare(const BudgetShare&) = delete;
  BudgetShare& operator=(const BudgetShare&) = delete;

  // Whether one more call may come in. A worker that holds nothing always may take one, so none can starve.
  [[nodiscard]] bool admits() const { return held_ == 0 || !budget_.exhausted(unpublished_); }
  void take(std::size_t bytes) { change(static_cast<std::int64_t>(bytes)); }
  void give(std::size_t bytes) { change(-static_cast<std::int64_t>(bytes)); }
  // Runs `wake` on the reactor when admits() may have become true. For after admits() was false.
  void wait(io::ReadyItem wake) {
    publish();
    budget_.wait({&reactor_, wake});
  }
  [[nodiscard]] std::int64_t held() const { return held_; }

 private:
  static constexpr std::int64_t step = static_cast<std::int64_t>(256 * base::KiB);
  void change(std::int64_t bytes) {
    held_ += bytes;
    unpublished_ += bytes;
    if (unpublished_ >= step || unpublished_ <= -step || budget_.awaited()) publish();
  }
  void publish() { budget_.add(std::exchange(unpublished_, 0)); }

  MemoryBudget& budget_;
  io::Reactor& reactor_;
  std::int64_t held_ = 0;
  std::int64_t unpublished_ = 0;
};

}  // namespace braid::rpc
