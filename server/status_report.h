// What `braid status` shows: a JSON object of the server's state, and its form for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/metrics.h"

namespace braid::server {

class Server;

// One JSON object without line feeds. docs/operations.md describes its members.
std::string status_json(Server& server, base::TimePoint started, base::TimePoint now);

// The report as tables; nothing if `json` is no such report (another version's, or an error).
std::optional<std::string> status_table(std::string_view json);

// The upper bound, in microseconds, of the bucket that the given share (0.99 ...) of the durations lies
// below; 0 if there are none.
std::uint64_t quantile_us(const base::LatencyHistogram::Snapshot& snapshot, double share);

}  // namespace braid::server
