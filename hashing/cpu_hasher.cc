#include "hashing/cpu_hasher.h"

#include <algorithm>
#include <cstring>

#include "hashing/tree_hash.h"

namespace braid::hashing {
namespace {

// Chunks are hashed when so many bytes of them are cut: they are still in the core's second cache then, and
// there are enough of them to fill vector registers.
constexpr std::size_t group_bytes = 512 * base::KiB;

}  // namespace

bool is_zero(base::BytesView bytes) {
  return bytes.empty() ||
         (bytes[0] == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

base::Result<Digest> CpuHasher::id_of(Algorithm algorithm, const Key& key, base::BytesView chunk) {
  if (algorithm == Algorithm::sha256_tree) return sha256_tree(key, chunk);
  if (algorithm == Algorithm::md5_tree) return md5_tree(chunk);
  Digest id;
  Blake3Batch().hash(blake3::keyed_mode(key), {&chunk, 1}, {&id, 1});
  return id;
}

base::Result<JobResult> CpuHasher::run_until(const Job& job, std::span<const Chunk> known) {
  if (const auto bytes = checked_bytes(job); !bytes) return base::fail(bytes.error());
  JobResult result;
  pending_.clear();
  const auto done = job.work == Work::hash ? hash_spans(job, result) : cut(job, known, result);
  if (!done) return base::fail(done.error());
  return result;
}

base::Result<void> CpuHasher::hash_spans(const Job& job, JobResult& result) {
  for (const base::BytesView span : job.spans) {
    result.chunks.push_back({job.stream_offset + result.consumed,
                             static_cast<std::uint32_t>(span.size()),
                             is_zero(span) ? zero_chunk : 0U,
                             {}});
    result.consumed += span.size();
    pending_.push_back(span);
  }
  return hash_pending(job, result);
}

base::BytesView CpuHasher::in_one_piece(const Job& job) {
  if (job.spans.empty()) return {};
  if (job.spans.size() == 1) return job.spans.front();
  gathered_.clear();
  for (const base::BytesView span : job.spans) gathered_.insert(gathered_.end(), span.begin(), span.end());
  return gathered_;
}

base::Result<void> CpuHasher::cut(const Job& job, std::span<const Chunk> known, JobResult& result) {
  const base::TimePoint start = clock_.now();
  const base::BytesView stream = in_one_piece(job);
  const Chunker chunker(*job.params, simd_);
  std::size_t group = 0;
  while (const auto cut =
             chunker.next(stream.subspan(result.consumed), job.stream_offset + result.consumed, job.is_end)) {
    const base::BytesView chunk = stream.subspan(result.consumed, cut->length);
    const std::uint32_t flags = (job.work != Work::chunk && is_zero(chunk) ? zero_chunk : 0U) |
                                (cut->reason == CutReason::forced ? forced_chunk : 0U) |
                                (cut->reason == CutReason::end ? tail_chunk : 0U);
    result.chunks.push_back({job.stream_offset + result.consumed, cut->length, flags, {}});
    result.consumed += cut->length;
    if (job.work != Work::chunk) {
      pending_.push_back(chunk);
      group += cut->length;
    }
    if (std::ranges::binary_search(known, job.stream_offset + result.consumed, {}, &Chunk::offset)) break;
    if (group < group_bytes) continue;
    if (auto done = hash_pending(job, result); !done) return done;
    group = 0;
  }
  if (auto done = hash_pending(job, result); !done) return done;
  result.timings.cutting = clock_.now() - start - result.timings.hashing;
  return {};
}

base::Result<void> CpuHasher::hash_pending(const Job& job, JobResult& result) {
  if (pending_.empty()) return {};
  const base::TimePoint start = clock_.now();
  Chunk* chunk = result.chunks.data() + (result.chunks.size() - pending_.size());
  if (job.algorithm == Algorithm::blake3) {
    ids_.resize(pending_.size());
    batch_.hash(blake3::keyed_mode(job.key), pending_, ids_);
    for (std::size_t i = 0; i < ids_.size(); ++i) chunk[i].id = ids_[i];
  } else {
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      const auto id = id_of(job.algorithm, job.key, pending_[i]);
      if (!id) return base::fail(id.error());
      chunk[i].id = *id;
    }
  }
  pending_.clear();
  result.timings.hashing += clock_.now() - start;
  return {};
}

}  // namespace braid::hashing
