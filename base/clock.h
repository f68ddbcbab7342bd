// Time as a parameter: the system's clock in the server, a hand-moved one in tests.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace braid::base {

using Duration = std::chrono::nanoseconds;
// Monotonic time since an arbitrary start.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;
// Seconds and nanoseconds since 1970 (CLOCK_REALTIME).
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

// As files have it: whole seconds since 1970; of what is before that, 0.
[[nodiscard]] inline std::uint64_t seconds_since_1970(WallTime at) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
  return static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 0));
}
// The other way round, of any number: what is after 2116 becomes 2116, so that a duration may be added.
[[nodiscard]] inline WallTime wall_time_at(std::uint64_t seconds) {
  constexpr auto last = std::chrono::duration_cast<std::chrono::seconds>(Duration::max() / 2).count();
  return WallTime{std::chrono::seconds(std::min<std::uint64_t>(seconds, last))};
}

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual TimePoint now() const = 0;
  // now() as of the kernel's last tick, at most 10 ms ago, at a fifth of the cost: for limits of seconds.
  [[nodiscard]] virtual TimePoint recently() const { return now(); }
  [[nodiscard]] virtual WallTime wall() const = 0;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override {
    return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
  }
  [[nodiscard]] TimePoint recently() const override {
    timespec at{};
    (void)::clock_gettime(CLOCK_MONOTONIC_COARSE, &at);
    return TimePoint(std::chrono::seconds(at.tv_sec) + Duration(at.tv_nsec));
  }
  [[nodiscard]] WallTime wall() const override {
    return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  }
};

}  // namespace braid::base
