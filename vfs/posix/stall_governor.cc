#include "vfs/posix/stall_governor.h"

#include <algorithm>

namespace braid::vfs::posix {

void StallGovernor::ran_inline(Call call, base::Duration took, base::TimePoint now) {
  Kind& kind = kinds_[static_cast<std::size_t>(call)];
  const std::int64_t penalty = kind.penalty.load(std::memory_order_relaxed);
  if (took <= stall_limit) {
    if (penalty != first_penalty.count())
      kind.penalty.store(first_penalty.count(), std::memory_order_relaxed);
    return;
  }
  stalls_.fetch_add(1, std::memory_order_relaxed);
  kind.banned_until.store(now.time_since_epoch().count() + penalty, std::memory_order_relaxed);
  kind.penalty.store(std::min(2 * penalty, longest_penalty.count()), std::memory_order_relaxed);
}

}  // namespace braid::vfs::posix
