#include "vfs/posix/handle_memo.h"

#include <algorithm>
#include <utility>

namespace braid::vfs::posix {
namespace {

// Numbers mostly come in rows; shard and place take different bits.
std::uint64_t spread(std::uint64_t fileid) {
  const std::uint64_t mixed = fileid * 0x9e37'79b9'7f4a'7c15;
  return mixed ^ (mixed >> 32U);
}

template <class Entries>
auto& place(Entries& entries, std::uint64_t fileid) {
  return entries[(spread(fileid) / HandleMemo::shards_max) % entries.size()];
}

Time birth_of(const Stat& stat) { return {stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec}; }

base::WallTime wall_of(const Time& time) {
  return base::WallTime(std::chrono::seconds(time.seconds) + std::chrono::nanoseconds(time.nanoseconds));
}

}  // namespace

bool HandleMemo::Known::is(const Stat& stat) const {
  return (stat.stx_mask & STATX_BTIME) != 0 && birth == birth_of(stat) && mount == stat.stx_mnt_id;
}

std::optional<HandleMemo::Known> HandleMemo::find(std::uint64_t fileid) const {
  const Shard& shard = shards_[spread(fileid) % shards_max];
  const std::scoped_lock lock(shard.mutex);
  if (shard.entries.empty()) return std::nullopt;
  const Entry& entry = place(shard.entries, fileid);
  if (entry.fileid != fileid || entry.known.handle.size == 0) return std::nullopt;
  return entry.known;
}

void HandleMemo::remember(const Stat& stat, const FileHandle& handle, std::uint64_t fsid,
                          base::WallTime now) {
  if ((stat.stx_mask & STATX_BTIME) == 0 || now - wall_of(birth_of(stat)) < settled) return;
  Shard& shard = shards_[spread(stat.stx_ino) % shards_max];
  const std::scoped_lock lock(shard.mutex);
  if (shard.used * 2 >= shard.entries.size() && shard.entries.size() < entries_max) grow(shard);
  Entry& entry = place(shard.entries, stat.stx_ino);
  if (entry.known.handle.size == 0) ++shard.used;
  entry = {stat.stx_ino, {handle, fsid, stat.stx_mnt_id, birth_of(stat)}};
}

void HandleMemo::grow(Shard& shard) {
  std::vector<Entry> larger(std::max(entries_min, shard.entries.size() * 4));
  shard.used = 0;
  for (const Entry& entry : shard.entries) {
    if (entry.known.handle.size == 0) continue;
    Entry& there = place(larger, entry.fileid);
    if (there.known.handle.size == 0) ++shard.used;
    there = entry;
  }
  shard.entries = std::move(larger);
}

}  // namespace braid::vfs::posix
