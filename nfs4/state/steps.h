// How much a call of the state layer looks at. All threads wait for one that takes long, so what a call does
// is bounded, whatever clients hold; more than that is done in several calls.
#pragma once

#include <algorithm>
#include <cstdint>

#include "vfs/lock_table.h"

namespace braid::nfs4::state {

// Not thread-safe. A step is one entry of a table that is looked at: a lock, a waiter, a state, an owner.
class StepCounter {
 public:
  // Of work that is done in portions: a portion ends after so many, and has not begun what is long in itself.
  static constexpr std::uint64_t portion = 4096;

  StepCounter() = default;
  StepCounter(const StepCounter&) = delete;
  StepCounter& operator=(const StepCounter&) = delete;

  void add(std::uint64_t steps) { taken_ += steps; }

  // From its birth to its death; one within another is a part of it.
  class Call {
   public:
    explicit Call(StepCounter& steps) : steps_(steps), before_(steps.taken_) { ++steps_.calls_; }
    ~Call() {
      if (--steps_.calls_ == 0) steps_.longest_ = std::max(steps_.longest_, taken());
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    [[nodiscard]] std::uint64_t taken() const { return steps_.taken_ - before_; }
    // Enough for one call.
    [[nodiscard]] bool over() const { return taken() >= portion; }

   private:
    StepCounter& steps_;
    const std::uint64_t before_;
  };

  // Counts what is looked at in this table while it lives.
  class Look {
   public:
    Look(StepCounter& steps, const vfs::LockTable& table)
        : steps_(steps), table_(table), before_(table.steps()) {}
    ~Look() { steps_.add(table_.steps() - before_); }
    Look(const Look&) = delete;
    Look& operator=(const Look&) = delete;

   private:
    StepCounter& steps_;
    const vfs::LockTable& table_;
    const std::uint64_t before_;
  };

  // Of the call that took the most.
  [[nodiscard]] std::uint64_t longest() const { return longest_; }

 private:
  std::uint64_t taken_ = 0;
  std::uint64_t longest_ = 0;
  unsigned calls_ = 0;
};

}  // namespace braid::nfs4::state
