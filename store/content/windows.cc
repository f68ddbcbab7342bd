#include "store/content/windows.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "store/content/sealed_inode.h"

namespace braid::store {
namespace {

// Bytes [begin, end) of the pieces, of which `first` is the one that they begin in or one before it, and
// becomes that. What lies in more than one piece is copied to the end of `across`, which has room for it.
base::BytesView bytes_between(std::span<const WindowPiece> pieces, std::size_t& first, std::uint64_t begin,
                              std::uint64_t end, base::Bytes& across) {
  const auto part_of = [&](const WindowPiece& piece) {
    const std::uint64_t from = std::max(piece.begin, begin), to = std::min(piece.end, end);
    return piece.bytes.memory()->subspan(static_cast<std::size_t>(from - piece.begin),
                                         static_cast<std::size_t>(to - from));
  };
  while (pieces[first].end <= begin) ++first;
  if (end <= pieces[first].end) return part_of(pieces[first]);
  const std::size_t copied = across.size();
  for (std::size_t i = first; i < pieces.size() && pieces[i].begin < end; ++i) {
    const base::BytesView part = part_of(pieces[i]);
    across.insert(across.end(), part.begin(), part.end());
  }
  return base::BytesView(across).subspan(copied);
}

}  // namespace

bool Windows::has_room(std::uint64_t bytes) const {
  return !stopped_.load(std::memory_order_relaxed) &&
         held_bytes_.load(std::memory_order_relaxed) + bytes <= options_.bytes_max;
}

WindowCounts Windows::counts() const {
  return {.taken_bytes = taken_bytes_.load(std::memory_order_relaxed),
          .sealed_bytes = sealed_bytes_.load(std::memory_order_relaxed),
          .spilled_bytes = spilled_bytes_.load(std::memory_order_relaxed),
          .lost_bytes = lost_bytes_.load(std::memory_order_relaxed),
          .held_bytes = held_bytes_.load(std::memory_order_relaxed),
          .windows = static_cast<std::uint64_t>(std::max(windows_.load(), 0))};
}

const hashing::ChunkParams* Windows::params_of(hashing::Profile profile) {
  return params_.with([&](auto& known) {
    auto& params = known[profile];
    if (params == nullptr)
      params =
          std::make_unique<hashing::ChunkParams>(hashing::ChunkParams::of(profile, store_.keys().data_key()));
    return params.get();
  });
}

base::Result<std::vector<Windows::Cut>> Windows::cut(std::span<const WindowPiece> pieces, bool is_end,
                                                     hashing::Profile profile, FormerChunks& former) {
  auto cutter = cutters_.with([](auto& all) {
    if (all.empty()) return std::unique_ptr<Cutter>();
    auto one = std::move(all.back());
    all.pop_back();
    return one;
  });
  if (cutter == nullptr) cutter = std::make_unique<Cutter>(clock_);
  auto out = cut_by(*cutter, pieces, is_end, profile, former);
  cutters_.with([&](auto& all) {
    if (all.size() < cutters_kept) all.push_back(std::move(cutter));
  });
  return out;
}

base::Result<std::vector<Windows::Cut>> Windows::cut_by(Cutter& cutter, std::span<const WindowPiece> pieces,
                                                        bool is_end, hashing::Profile profile,
                                                        FormerChunks& former) {
  hashing::Job job{.params = params_of(profile),
                   .key = store_.keys().data_key(),
                   .stream_offset = pieces.front().begin,
                   .is_end = is_end,
                   .priority = hashing::Priority::urgent};
  for (const WindowPiece& piece : pieces) job.spans.push_back(*piece.bytes.memory());
  const auto done = options_.hash ? options_.hash(job, cutter.hasher) : cutter.hasher.run(job);
  if (!done) return base::fail(done.error());
  std::vector<Cut> out;
  std::vector<Containers::NewChunk> chunks;
  cutter.across.clear();
  cutter.across.reserve(done->consumed);
  std::size_t first = 0;
  for (const hashing::Chunk& chunk : done->chunks) {
    out.push_back({.begin = chunk.offset, .end = chunk.offset + chunk.length, .chunk = {}});
    if ((chunk.flags & hashing::zero_chunk) != 0) continue;
    chunks.push_back(
        {chunk.id, bytes_between(pieces, first, out.back().begin, out.back().end, cutter.across)});
    out.back().chunk.emplace();
  }
  former.look_around(store_.chunks(), pieces.front().begin, pieces.back().end);
  const auto kept = store_.chunks().put_all(ChunkKind::data, chunks, former.hint());
  if (!kept) return base::fail(kept.error());
  auto next = kept->begin();
  for (Cut& cut : out) {
    if (!cut.chunk) continue;
    cut.chunk = *next++;
    former.follow(cut.chunk->id, cut.begin);
  }
  return out;
}

void Windows::note(const std::shared_ptr<SealedInode>& inode, vfs::Stub::Kept kept, base::TimePoint now) {
  open_.with([&](auto& open) {
    Open& one = open[inode.get()];
    one.written = now;
    if (one.inode != nullptr) return;
    one.inode = inode;
    one.kept = std::move(kept);
  });
}

// What is let go may end a file, and a file system: not under the lock.
std::vector<Windows::Open> Windows::idle_since(base::TimePoint before) {
  std::vector<Open> idle, ended;
  open_.with([&](auto& open) {
    for (auto at = open.begin(); at != open.end();) {
      const bool has_window = at->second.inode->has_window();
      if (has_window && at->second.written <= before) idle.push_back(at->second);
      if (!has_window) ended.push_back(std::move(at->second));
      at = has_window ? std::next(at) : open.erase(at);
    }
  });
  return idle;
}

void Windows::forget_all() {
  std::map<const SealedInode*, Open> ended;
  open_.with([&](auto& open) { ended.swap(open); });
}

}  // namespace braid::store
