// A clock that is moved by hand: for tests and simulators.
#pragma once

#include <atomic>

#include "base/clock.h"

namespace braid::base {

// One thread moves it; any thread may read it.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return TimePoint(std::chrono::seconds(1) + passed()); }
  [[nodiscard]] WallTime wall() const override {
    return WallTime(std::chrono::seconds(1'000'000'000) + passed());
  }
  void advance(Duration by) { passed_.fetch_add(by.count(), std::memory_order_relaxed); }

 private:
  [[nodiscard]] Duration passed() const { return Duration(passed_.load(std::memory_order_relaxed)); }
  std::atomic<Duration::rep> passed_{0};
};

}  // namespace braid::base
