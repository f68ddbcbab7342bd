// Cuts and hashes a stream that comes piece by piece, for programs that read files; a server uses the engine.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "hashing/job.h"

namespace braid::hashing {

// One stream after the other; belongs to one thread. Keeps the open tail (at most one chunk) between pieces.
class StreamCutter {
 public:
  // Does a job and returns when it is done, as CpuHasher::run().
  using Run = std::function<base::Result<JobResult>(const Job&)>;
  // The parameters outlive the cutter.
  StreamCutter(Run run, Algorithm algorithm, const ChunkParams& params, const Key& key)
      : run_(std::move(run)), algorithm_(algorithm), params_(params), key_(key) {}
  // The chunks that this piece completes. With `is_end` the stream is over, and the next piece begins
  // another. Errors: those of `run`.
  base::Result<std::vector<Chunk>> feed(base::BytesView piece, bool is_end);

 private:
  const Run run_;
  const Algorithm algorithm_;
  const ChunkParams& params_;
  const Key key_;
  base::Bytes tail_;
  std::uint64_t offset_ = 0;  // of the tail in the stream
};

}  // namespace braid::hashing
