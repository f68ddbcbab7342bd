// Counts the calls of the control protocol by what is asked for and by how that ended.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/metrics.h"
#include "pnfs/control_peer.h"

namespace braid::pnfs {

// Thread-safe. The registry outlives it.
class CallCounters {
 public:
  // `calls`: names of the operations, in the order of their numbers in note().
  CallCounters(base::MetricRegistry& metrics, std::span<const std::string_view> calls);

  // A call of that operation has ended: with an answer, which may be an error of the file, or without one.
  void answered(std::size_t call) { counters_.at(call * results)->add(); }
  void failed(std::size_t call, PeerFault fault) {
    counters_.at(call * results + 1 + static_cast<std::size_t>(fault))->add();
  }

 private:
  static constexpr std::size_t results = 7;  // an answer, or one of the PeerFaults
  std::vector<base::Counter*> counters_;
};

}  // namespace braid::pnfs
