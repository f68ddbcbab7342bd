// Does a job on the calling thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hashing/blake3_batch.h"
#include "hashing/chunker.h"
#include "hashing/job.h"

namespace braid::hashing {

// Belongs to one thread, which uses it for job after job: it keeps its scratch memory.
class CpuHasher {
 public:
  explicit CpuHasher(const base::Clock& clock, Simd simd = best_simd())
      : clock_(clock), simd_(simd), batch_(simd) {}
  // The errors of checked_bytes(); EIO when OpenSSL fails. Of a chunk job those chunks are copied that lie in
  // more than one span; all, if its spans are not much longer than its chunks.
  base::Result<JobResult> run(const Job& job) { return run_until(job, {}); }
  // Ends where one of `known`, in order of offsets, begins: from there on they are the job's chunks.
  base::Result<JobResult> run_until(const Job& job, std::span<const Chunk> known);
  // The id of one chunk, with the memory of `scratch`.
  static base::Result<Digest> id_of(Algorithm algorithm, const Key& key, base::BytesView chunk,
                                    Blake3Batch& scratch);

 private:
  base::Result<void> hash_spans(const Job& job, JobResult& result);
  base::Result<void> cut(const Job& job, std::span<const Chunk> known, JobResult& result);
  class Pieces;
  std::optional<Cut> cut_across(const Job& job, const Chunker& chunker, const Pieces& stream,
                                std::uint64_t offset, base::BytesView& from);
  base::Result<void> hash_pending(const Job& job, JobResult& result);
  std::span<const base::BytesView> in_long_pieces(const Job& job);

  const base::Clock& clock_;
  const Simd simd_;
  Blake3Batch batch_;
  base::Bytes gathered_;
  base::BytesView gathered_view_;
  base::Bytes across_;                    // chunks that lie in more than one span
  std::vector<base::BytesView> pending_;  // cut, not yet hashed: the last chunks of the result
  std::vector<Digest> ids_;
};

// True if every byte is zero.
bool is_zero(base::BytesView bytes);

}  // namespace braid::hashing
