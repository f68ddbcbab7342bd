#include "hashing/cpu_hasher.h"

#include <algorithm>
#include <cstring>

#include "hashing/tree_hash.h"

namespace braid::hashing {
namespace {

// Chunks are hashed when so many bytes of them are cut: they are still in the core's second cache then, and
// there are enough of them to fill vector registers.
constexpr std::size_t group_bytes = 512 * base::KiB;

// A stream that lies in several spans, some of which may be empty.
class Pieces {
 public:
  explicit Pieces(std::span<const base::BytesView> spans) : spans_(spans) { settle(); }

  // Of the span that it has come to; empty at the end of the stream.
  [[nodiscard]] base::BytesView rest() const {
    return spans_.empty() ? base::BytesView() : spans_.front().subspan(done_);
  }
  // Nothing lies behind rest().
  [[nodiscard]] bool is_last() const {
    return std::ranges::all_of(spans_.subspan(std::min<std::size_t>(1, spans_.size())),
                               [](base::BytesView span) { return span.empty(); });
  }
  // The next `count` bytes, or as many as there are.
  [[nodiscard]] base::Bytes first(std::size_t count) const {
    base::Bytes out;
    base::BytesView from = rest();
    for (std::size_t i = 1;; from = spans_[i++]) {
      const base::BytesView part = from.first(std::min(from.size(), count - out.size()));
      out.insert(out.end(), part.begin(), part.end());
      if (i >= spans_.size() || out.size() == count) return out;
    }
  }
  void skip(std::size_t count) {
    done_ += count;
    settle();
  }

 private:
  void settle() {
    while (!spans_.empty() && done_ >= spans_.front().size()) {
      done_ -= spans_.front().size();
      spans_ = spans_.subspan(1);
    }
  }

  std::span<const base::BytesView> spans_;
  std::size_t done_ = 0;  // of the first one
};

}  // namespace

bool is_zero(base::BytesView bytes) {
  return bytes.empty() ||
         (bytes[0] == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

base::Result<Digest> CpuHasher::id_of(Algorithm algorithm, const Key& key, base::BytesView chunk,
                                      Blake3Batch& scratch) {
  if (algorithm == Algorithm::sha256_tree) return sha256_tree(key, chunk);
  if (algorithm == Algorithm::md5_tree) return md5_tree(chunk);
  Digest id;
  scratch.hash(blake3::keyed_mode(key), {&chunk, 1}, {&id, 1});
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

// The spans, or all of their bytes as one: around each end of a span as many bytes as a chunk may have are
// copied.
std::span<const base::BytesView> CpuHasher::in_long_pieces(const Job& job) {
  std::uint64_t bytes = 0;
  for (const base::BytesView span : job.spans) bytes += span.size();
  const std::uint64_t around_ends = (job.spans.size() - 1) * std::uint64_t{job.params->sizes().max};
  if (job.spans.size() <= 1 || around_ends <= bytes / 2) return job.spans;
  gathered_.clear();
  for (const base::BytesView span : job.spans) gathered_.insert(gathered_.end(), span.begin(), span.end());
  gathered_view_ = gathered_;
  return {&gathered_view_, 1};
}

base::Result<void> CpuHasher::cut(const Job& job, std::span<const Chunk> known, JobResult& result) {
  const base::TimePoint start = clock_.now();
  const Chunker chunker(*job.params, simd_);
  Pieces stream(in_long_pieces(job));
  across_.clear();
  std::size_t group = 0;
  for (; !stream.rest().empty(); stream.skip(result.chunks.back().length)) {
    base::BytesView from = stream.rest();
    const std::uint64_t offset = job.stream_offset + result.consumed;
    auto cut = chunker.next(from, offset, job.is_end && stream.is_last());
    if (!cut && !stream.is_last()) {
      from = across_.emplace_back(stream.first(job.params->sizes().max));
      cut = chunker.next(from, offset, job.is_end && from.size() < job.params->sizes().max);
    }
    if (!cut) break;
    const base::BytesView chunk = from.first(cut->length);
    const std::uint32_t flags = (job.work != Work::chunk && is_zero(chunk) ? zero_chunk : 0U) |
                                (cut->reason == CutReason::forced ? forced_chunk : 0U) |
                                (cut->reason == CutReason::end ? tail_chunk : 0U);
    result.chunks.push_back({offset, cut->length, flags, {}});
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
      const auto id = id_of(job.algorithm, job.key, pending_[i], batch_);
      if (!id) return base::fail(id.error());
      chunk[i].id = *id;
    }
  }
  pending_.clear();
  result.timings.hashing += clock_.now() - start;
  return {};
}

}  // namespace braid::hashing
