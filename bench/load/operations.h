// The operations of a load: one call each, with arguments picked at random or in order.
#pragma once

#include <array>
#include <cstdint>

#include "bench/load/mount.h"
#include "bench/load/options.h"
#include "bench/load/random.h"
#include "bench/load/session.h"
#include "bench/load/workspace.h"

namespace braid::load {

// What the operations of all workers share.
struct Shared {
  const Options& options;
  Workspace& workspace;
  std::uint64_t next_block = 0;  // of the data file, in sequential order
};

// One call at a time: what the operations of one worker keep.
struct Worker {
  Session& session;
  Shared& shared;
  Random random;
  // Where this worker's listing of the directory stands; cookie 0 is the beginning (RFC 1813 3.3.17).
  std::uint64_t cookie = 0;
  nfs3::cookieverf3 cookie_verifier{};
  // For REMOVE: the file to remove, which must have been taken beforehand.
  std::uint64_t removable = 0;
};

// Makes one call. The worker must live until it ends.
LoadOp<Done> perform(Operation operation, Worker& worker);

}  // namespace braid::load
