#include "server/metrics/quantile.h"

#include <cmath>
#include <cstddef>
#include <numeric>

namespace braid::server::metrics {

std::uint64_t calls_of(const base::LatencyHistogram::Snapshot& snapshot) {
  return std::accumulate(snapshot.counts.begin(), snapshot.counts.end(), std::uint64_t{0});
}

std::uint64_t quantile_us(const base::LatencyHistogram::Snapshot& snapshot, double share) {
  const std::uint64_t all = calls_of(snapshot);
  const auto wanted = static_cast<std::uint64_t>(std::ceil(static_cast<double>(all) * share));
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < snapshot.counts.size() && all != 0; ++i) {
    below += snapshot.counts[i];
    if (below >= wanted) return std::uint64_t{1} << i;
  }
  return 0;
}

}  // namespace braid::server::metrics
