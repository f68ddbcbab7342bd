// A job with the functions of HashGPU in place of this engine's own: chunks are cut by the sliding window of
// hashing/sliding_window.h, and their ids are md5_tree(). For comparison with that paper's figures only.
#pragma once

#include "base/result.h"
#include "hashing/job.h"

namespace braid::hashing {

// As CpuHasher::run() does it for Work::chunk_and_hash, whatever the job's algorithm is. A chunk ends behind
// the first window of 20 bytes, of all that end at least `min` bytes behind its start, whose MD5 has as many
// low bits zero as make one in `avg`; or at `max`. All spans are copied if there are several. Errors: those
// of checked_bytes(), EINVAL (the job's parameters are of fixed blocks), EIO (OpenSSL).
base::Result<JobResult> run_sliding(const Job& job);

}  // namespace braid::hashing
