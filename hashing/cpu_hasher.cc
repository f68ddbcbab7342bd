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

// A stream that lies in several spans, some of which may be empty.
class CpuHasher::Pieces {
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
  // Adds to `out`, which has the first bytes from its byte `begin` on, what follows them: until it has
  // `count` of them, or all.
  void complete(base::Bytes& out, std::size_t begin, std::size_t count) const {
    std::size_t there = out.size() - begin;
    base::BytesView from = rest();
    for (std::size_t i = 1;; from = spans_[i++]) {
      const std::size_t skipped = std::min(there, from.size());
      there -= skipped;
      const std::size_t wanted = count - (out.size() - begin);
      const base::BytesView part = from.subspan(skipped).first(std::min(from.size() - skipped, wanted));
      out.insert(out.end(), part.begin(), part.end());
      if (i >= spans_.size() || out.size() - begin == count) return;
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

// `from` becomes the bytes of the chunk that the stream begins with, and ends in another span than it begins
// in. Most are not much longer than the average.
std::optional<Cut> CpuHasher::cut_across(const Job& job, const Chunker& chunker, const Pieces& stream,
                                         std::uint64_t offset, base::BytesView& from) {
  const ChunkSizes& sizes = job.params->sizes();
  const std::size_t begin = across_.size(), usual = stream.rest().size() + sizes.avg;
  for (const std::size_t wanted : {std::min<std::size_t>(usual, sizes.max), std::size_t{sizes.max}}) {
    stream.complete(across_, begin, wanted);
    from = base::BytesView(across_).subspan(begin);
    const auto cut = chunker.next(from, offset, job.is_end && from.size() < wanted);
    if (!cut) continue;
    across_.resize(begin + cut->length);
    return cut;
  }
  return std::nullopt;
}

base::Result<void> CpuHasher::cut(const Job& job, std::span<const Chunk> known, JobResult& result) {
  const base::TimePoint start = clock_.now();
  const Chunker chunker(*job.params, simd_);
  const std::span<const base::BytesView> spans = in_long_pieces(job);
  Pieces stream(spans);
  // What is pending stays where it is: at most so much is copied.
  across_.clear();
  if (spans.size() > 1) across_.reserve((spans.size() - 1) * std::size_t{job.params->sizes().max});
  std::size_t group = 0;
  for (; !stream.rest().empty(); stream.skip(result.chunks.back().length)) {
    base::BytesView from = stream.rest();
    const std::uint64_t offset = job.stream_offset + result.consumed;
    auto cut = chunker.next(from, offset, job.is_end && stream.is_last());
    if (!cut && !stream.is_last()) cut = cut_across(job, chunker, stream, offset, from);
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
