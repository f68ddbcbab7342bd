// What a run found, and its two printed forms.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "bench/load/histogram.h"
#include "bench/load/options.h"
#include "bench/load/process_meter.h"

namespace braid::load {

// Of one operation during the measurement. A failed call counts in `failures` alone.
struct Tally {
  Histogram latency;
  std::uint64_t bytes = 0;                        // of file data
  std::uint64_t entries = 0;                      // of directories
  std::map<std::string, std::uint64_t> failures;  // by name of the status
  [[nodiscard]] std::uint64_t failed() const;
};

// What the measurement cost a process: the difference of two readings.
struct Cost {
  base::Duration cpu{};
  double system_share = 0;      // of the CPU time, 0 to 1
  std::uint64_t rss_bytes = 0;  // at the end
  std::uint64_t rss_bytes_max = 0;
  std::optional<std::uint64_t> allocations;
};
Cost cost_between(const ProcessReading& before, const ProcessReading& after);

struct Report {
  std::array<Tally, operation_count> tallies;
  Histogram commits;  // latencies of the COMMITs, which count as part of the WRITE that they follow, too
  base::Duration elapsed{};
  std::vector<Cost> servers;
  Cost client;
  std::uint64_t late =
      0;  // open loop: calls that started after they were due because all of `depth` were busy
  std::uint64_t delayed = 0;  // replies that asked for the call to be repeated later
  bool ran_out = false;       // ended early: there was nothing left to remove
  [[nodiscard]] std::uint64_t calls() const;
  [[nodiscard]] std::uint64_t failed() const;
};

std::string table_of(const Report& report, const Options& options);
std::string json_of(const Report& report, const Options& options);

}  // namespace braid::load
