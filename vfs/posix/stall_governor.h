// Decides whether a kind of call may run on a reactor's thread, from how long such calls took lately.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "vfs/posix/calls.h"

namespace braid::vfs::posix {

// A call that took longer than stall_limit sends its kind to the blocking pool for a while: first_penalty,
// doubled each time the first call after it is slow again, up to longest_penalty. A fast call after a penalty
// forgets the doubling. Thread-safe: what threads see of each other may lag a little, which costs a stall at
// most.
class StallGovernor {
 public:
  static constexpr base::Duration stall_limit = std::chrono::milliseconds(2);
  static constexpr base::Duration first_penalty = std::chrono::milliseconds(100);
  static constexpr base::Duration longest_penalty = std::chrono::seconds(10);

  [[nodiscard]] bool may_run_inline(Call call, base::TimePoint now) const {
    return now.time_since_epoch().count() >= kind(call).banned_until.load(std::memory_order_relaxed);
  }
  // After a call that ran inline and ended at `now`.
  void ran_inline(Call call, base::Duration took, base::TimePoint now);
  // Calls that stalled, of all kinds.
  [[nodiscard]] std::uint64_t stalls() const { return stalls_.load(std::memory_order_relaxed); }

 private:
  struct Kind {
    std::atomic<std::int64_t> banned_until{0};  // nanoseconds of the clock
    std::atomic<std::int64_t> penalty{first_penalty.count()};
  };
  [[nodiscard]] const Kind& kind(Call call) const { return kinds_[static_cast<std::size_t>(call)]; }

  std::array<Kind, calls> kinds_;
  std::atomic<std::uint64_t> stalls_{0};
};

}  // namespace braid::vfs::posix
