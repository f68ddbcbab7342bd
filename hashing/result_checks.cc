#include "hashing/result_checks.h"

#include <algorithm>

#include "hashing/chunker.h"
#include "hashing/cpu_hasher.h"

namespace braid::hashing {

// Bytes [offset, offset + length) of the spans, in one piece.
base::BytesView ResultChecks::gather(const Job& job, std::uint64_t offset, std::size_t length) {
  gathered_.clear();
  for (base::BytesView span : job.spans) {
    if (gathered_.empty() && offset < span.size() && span.size() - offset >= length)
      return span.subspan(offset, length);
    const std::size_t skip = std::min<std::uint64_t>(offset, span.size());
    offset -= skip;
    span = span.subspan(skip);
    const auto part = span.first(std::min(span.size(), length - gathered_.size()));
    gathered_.insert(gathered_.end(), part.begin(), part.end());
  }
  return gathered_;
}

// Its end, its flags and its id. An end needs only the chunk's own bytes: if a core cuts them earlier, the
// card has missed that, and if nothing in them ends a chunk, it must be the last of its stream.
bool ResultChecks::is_right(const Job& job, const Chunk& chunk) {
  const base::BytesView bytes = gather(job, chunk.offset - job.stream_offset, chunk.length);
  std::uint32_t flags = job.work != Work::chunk && is_zero(bytes) ? zero_chunk : 0U;
  if (job.work != Work::hash && !bytes.empty()) {
    const auto cut = Chunker(*job.params).next(bytes, chunk.offset, true);
    if (!cut || cut->length != chunk.length || (cut->reason == CutReason::end && !job.is_end)) return false;
    if (cut->reason == CutReason::forced) flags |= forced_chunk;
    if (cut->reason == CutReason::end) flags |= tail_chunk;
  }
  if (chunk.flags != flags) return false;
  if (job.work == Work::chunk) return true;
  const auto id = CpuHasher::id_of(job.algorithm, job.key, bytes, hasher_);
  return id && *id == chunk.id;
}

// The one of each batch is mostly the shortest: that costs a core least.
bool ResultChecks::are_right(std::span<Task* const> tasks) {
  constexpr std::uint64_t any_one_in = 16;  // batches of which it is any chunk
  struct Sample {
    const Job* job = nullptr;
    const Chunk* chunk = nullptr;
  };
  Sample shortest, last;
  const bool any = ++batches_ % any_one_in == 0;
  for (const Task* task : tasks) {
    for (const Chunk& chunk : task->result->chunks) {
      if (++chunks_ % one_in_ == 0 && !is_right(task->job, chunk)) return false;
      if (shortest.chunk == nullptr || chunk.length < shortest.chunk->length) shortest = {&task->job, &chunk};
      last = {&task->job, &chunk};
    }
  }
  const Sample sample = any ? last : shortest;
  return sample.chunk == nullptr || is_right(*sample.job, *sample.chunk);
}

}  // namespace braid::hashing
