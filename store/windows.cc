#include "store/windows.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "store/sealed_inode.h"

namespace braid::store {

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
                                                     hashing::Profile profile) {
  auto cutter = cutters_.with([](auto& all) {
    if (all.empty()) return std::unique_ptr<Cutter>();
    auto one = std::move(all.back());
    all.pop_back();
    return one;
  });
  if (cutter == nullptr) cutter = std::make_unique<Cutter>(clock_);
  base::Bytes& bytes = cutter->bytes;
  bytes.clear();
  for (const WindowPiece& piece : pieces) {
    const base::BytesView part = *piece.bytes.memory();
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  const std::uint64_t offset = pieces.front().begin;
  auto out = cut_bytes(bytes, offset, is_end, profile, cutter->hasher);
  cutters_.with([&](auto& all) { all.push_back(std::move(cutter)); });
  return out;
}

base::Result<std::vector<Windows::Cut>> Windows::cut_bytes(base::BytesView bytes, std::uint64_t offset,
                                                           bool is_end, hashing::Profile profile,
                                                           hashing::CpuHasher& hasher) {
  const hashing::Job job{.params = params_of(profile),
                         .key = store_.keys().data_key(),
                         .spans = {bytes},
                         .stream_offset = offset,
                         .is_end = is_end,
                         .priority = hashing::Priority::urgent};
  const auto done = options_.hash ? options_.hash(job, hasher) : hasher.run(job);
  if (!done) return base::fail(done.error());
  std::vector<Cut> out;
  for (const hashing::Chunk& chunk : done->chunks) {
    Cut& cut = out.emplace_back(Cut{.begin = chunk.offset, .end = chunk.offset + chunk.length, .chunk = {}});
    if ((chunk.flags & hashing::zero_chunk) != 0) continue;
    const auto kept =
        store_.chunks().put(ChunkKind::data, chunk.id,
                            bytes.subspan(static_cast<std::size_t>(chunk.offset - offset), chunk.length));
    if (!kept) return base::fail(kept.error());
    cut.chunk = *kept;
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
