#include "hashing/sliding_job.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "hashing/cpu_hasher.h"
#include "hashing/sliding_window.h"
#include "hashing/tree_hash.h"

namespace braid::hashing {
namespace {

// So many windows are looked at before it is asked whether one of them was it.
constexpr std::size_t look_bytes = 64 * base::KiB;

SlidingWindow window_of(const ChunkSizes& sizes) {
  return {.zero_bits = static_cast<std::uint32_t>(std::countr_zero(sizes.avg))};
}

// The first cut of `data` from its byte `least` on; nothing: there is none.
base::Result<std::optional<std::size_t>> first_cut(const SlidingWindow& parameters, base::BytesView data,
                                                   std::size_t least) {
  for (std::size_t begin = least - parameters.window; begin + parameters.window <= data.size();
       begin += look_bytes) {
    const std::size_t count = std::min(look_bytes + parameters.window - 1, data.size() - begin);
    const auto cuts = sliding_cuts(parameters, data.subspan(begin, count));
    if (!cuts) return base::fail(cuts.error());
    if (!cuts->empty()) return begin + cuts->front();
  }
  return std::nullopt;
}

// The chunk that `data` begins with; nothing: where it ends depends on what follows.
base::Result<std::optional<Chunk>> first_chunk(const Job& job, base::BytesView data) {
  const ChunkSizes& sizes = job.params->sizes();
  const bool whole = data.size() >= sizes.max;
  const base::BytesView looked_at = data.first(std::min<std::size_t>(data.size(), sizes.max));
  Chunk out{.offset = job.stream_offset, .length = static_cast<std::uint32_t>(looked_at.size())};
  const auto cut = first_cut(window_of(sizes), looked_at, sizes.min);
  if (!cut) return base::fail(cut.error());
  if (*cut)
    out.length = static_cast<std::uint32_t>(**cut);
  else if (whole)
    out.flags = forced_chunk;
  else if (job.is_end)
    out.flags = tail_chunk;
  else
    return std::nullopt;
  return out;
}

}  // namespace

base::Result<JobResult> run_sliding(const Job& job) {
  const auto bytes = checked_bytes(job);
  if (!bytes) return base::fail(bytes.error());
  if (job.params == nullptr || job.params->is_fixed()) return base::fail(EINVAL);
  base::Bytes gathered;
  base::BytesView all;
  if (job.spans.size() == 1) {
    all = job.spans.front();
  } else {
    for (const base::BytesView span : job.spans) gathered.insert(gathered.end(), span.begin(), span.end());
    all = gathered;
  }
  JobResult out;
  while (out.consumed < all.size()) {
    const base::BytesView rest = all.subspan(out.consumed);
    const auto chunk = first_chunk(job, rest);
    if (!chunk) return base::fail(chunk.error());
    if (!*chunk) break;
    Chunk& done = out.chunks.emplace_back(**chunk);
    done.offset += out.consumed;
    const base::BytesView content = rest.first(done.length);
    if (is_zero(content)) done.flags |= zero_chunk;
    const auto id = md5_tree(content);
    if (!id) return base::fail(id.error());
    done.id = *id;
    out.consumed += done.length;
  }
  return out;
}

}  // namespace braid::hashing
