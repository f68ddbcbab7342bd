// Handles of objects that were listed before: a listing with attributes then costs one system call per entry
// instead of two.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "vfs/posix/kernel.h"

namespace braid::vfs::posix {

// Thread-safe. A handle is good for one incarnation of an inode. statx(2) does not give its generation, but
// on some file systems (Traits::birth_names_inode) number and time of birth together name an incarnation too,
// if it was at least `settled` old when it was remembered: whatever takes the number later is born later.
// Younger ones are not remembered.
class HandleMemo {
 public:
  static constexpr base::Duration settled = std::chrono::seconds(2);
  static constexpr std::size_t shards_max = 16;
  static constexpr std::size_t entries_min = 64;    // of a shard
  static constexpr std::size_t entries_max = 4096;  // 112 bytes each: 7 MiB in all

  struct Known {
    FileHandle handle;
    std::uint64_t fsid = 0;
    std::uint64_t mount = 0;
    Time birth;

    // Whether the handle is that of the object with these attributes and the number that was asked for.
    [[nodiscard]] bool is(const Stat& stat) const;
  };

  [[nodiscard]] std::optional<Known> find(std::uint64_t fileid) const;
  void remember(const Stat& stat, const FileHandle& handle, std::uint64_t fsid, base::WallTime now);

 private:
  struct Entry {
    std::uint64_t fileid = 0;
    Known known;  // nothing if the handle is empty
  };
  // Every number has one place; whoever comes last has it.
  struct Shard {
    mutable std::mutex mutex;
    std::vector<Entry> entries;
    std::size_t used = 0;
  };
  static void grow(Shard& shard);

  std::array<Shard, shards_max> shards_;
};

}  // namespace braid::vfs::posix
