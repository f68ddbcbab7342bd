// The operations of a load, with arguments picked at random or in order.
#pragma once

#include <array>
#include <cstdint>

#include "bench/load/histogram.h"
#include "bench/load/options.h"
#include "bench/load/protocol.h"
#include "bench/load/random.h"
#include "bench/load/workspace.h"

namespace braid::load {

// What the operations of all workers share.
struct Shared {
  const Options& options;
  Workspace& workspace;
  std::uint64_t next_block = 0;  // of the data file, in sequential order
  std::uint64_t writes = 0;      // that were answered
  Histogram commits{};           // how long COMMITs took, since the measurement began
};

// One operation at a time: what those of one worker keep.
struct Worker {
  Protocol& protocol;
  Shared& shared;
  Random random;
  Listing listing{};
  // For REMOVE: the file to remove, which must have been taken beforehand.
  std::uint64_t removable = 0;
};

// Does it once. The worker must live until it ends.
LoadOp<Done> perform(Operation operation, Worker& worker);

}  // namespace braid::load
