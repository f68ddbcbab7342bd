// What another process on this host costs: CPU time, memory, allocations.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "bench/alloc_count/alloc_count.h"

namespace braid::load {

// A reading at one moment; two of them make a cost.
struct ProcessReading {
  base::Duration cpu{};          // of all its threads, ended ones too, by the scheduler's clock
  std::uint64_t user_ticks = 0;  // 10 ms each: only good for the ratio of user to system time
  std::uint64_t system_ticks = 0;
  std::uint64_t rss_bytes = 0;
  std::uint64_t rss_bytes_max = 0;  // since the process started
  std::optional<std::uint64_t> allocations;
};

// Reads /proc and the CPU clock of one process, which must live as long as readings are taken.
class ProcessMeter {
 public:
  // `alloc_count_file` names the file of alloc_count.so when the process runs with it; empty otherwise. ESRCH
  // when there is no such process.
  static base::Result<ProcessMeter> open(pid_t pid, const std::string& alloc_count_file);
  ProcessMeter(ProcessMeter&& other) noexcept;
  ProcessMeter& operator=(ProcessMeter&&) = delete;
  ProcessMeter(const ProcessMeter&) = delete;
  ProcessMeter& operator=(const ProcessMeter&) = delete;
  ~ProcessMeter();

  [[nodiscard]] base::Result<ProcessReading> read() const;

 private:
  ProcessMeter(pid_t pid, clockid_t clock, const alloc_count::Counters* counters)
      : pid_(pid), clock_(clock), counters_(counters) {}

  pid_t pid_;
  clockid_t clock_;
  const alloc_count::Counters* counters_;  // mapped; nullptr without a file
};

}  // namespace braid::load
