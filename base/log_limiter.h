// Lines of the log that stand for many events: one a minute is enough.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/log_source.h"

namespace braid::base {

// `if (limiter.due(now)) log_event(...)`, or `if (const auto news = limiter.news(total, now)) log_event(...
// news ...)`.
class LogLimiter {
 public:
  static constexpr auto pause = std::chrono::minutes(1);

  // Whether a line may be written; if so, it counts as written. Thread-safe.
  [[nodiscard]] bool due(TimePoint now) {
    Duration::rep after = after_.load(std::memory_order_relaxed);
    const Duration::rep at = now.time_since_epoch().count();
    return at >= after && after_.compare_exchange_strong(after, (now.time_since_epoch() + pause).count());
  }

  // Of something that was counted, `total` until now: how much of it no line has told of; 0: nothing, or no
  // line is due. For one thread.
  [[nodiscard]] std::uint64_t news(std::uint64_t total, TimePoint now) {
    if (total == told_ || !due(now)) return 0;
    return total - std::exchange(told_, total);
  }

 private:
  std::atomic<Duration::rep> after_{std::numeric_limits<Duration::rep>::min()};
  std::uint64_t told_ = 0;
};

// How many lines an event may have, so that what peers bring about does not fill a disk. Not thread-safe.
class LineQuota {
 public:
  static constexpr unsigned lines_max = 600;  // in LogLimiter::pause
  // A source may have so many of them, or half as many as are left.
  static constexpr unsigned share_min = 16;

  // Whether one more may be written; then, how many were left out before it.
  [[nodiscard]] std::optional<std::uint64_t> admit(TimePoint now, LogSource source = {}) {
    if (now >= end_) {
      end_ = now + LogLimiter::pause;
      lines_ = 0;
      of_source_.clear();
    }
    if (lines_ < lines_max && within_share(source)) {
      ++lines_;
      return std::exchange(left_out_, 0);
    }
    ++left_out_;
    return std::nullopt;
  }

 private:
  bool within_share(LogSource source) {
    if (source == LogSource()) return true;
    unsigned& own = of_source_[source];  // no more of them than lines
    if (own >= std::max(share_min, (lines_max - lines_) / 2)) return false;
    ++own;
    return true;
  }

  TimePoint end_ = TimePoint::min();
  std::map<LogSource, unsigned> of_source_;
  unsigned lines_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace braid::base
