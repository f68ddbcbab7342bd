// A clock that is moved by hand: for tests and simulators.
#pragma once

#include "base/clock.h"

namespace braid::base {

// Not thread-safe.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }
  [[nodiscard]] WallTime wall() const override { return wall_; }
  void advance(Duration by) {
    now_ += by;
    wall_ += by;
  }

 private:
  TimePoint now_{std::chrono::seconds(1)};
  WallTime wall_{std::chrono::seconds(1'000'000'000)};
};

}  // namespace braid::base
