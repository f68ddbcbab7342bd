// Shares of measured durations.
#pragma once

#include <cstdint>

#include "base/metrics.h"

namespace braid::server::metrics {

// How many durations were measured.
std::uint64_t calls_of(const base::LatencyHistogram::Snapshot& snapshot);
// The upper bound, in microseconds, of the bucket that the given share (0.99 ...) of the durations lies
// below; 0 if there are none.
std::uint64_t quantile_us(const base::LatencyHistogram::Snapshot& snapshot, double share);

}  // namespace braid::server::metrics
