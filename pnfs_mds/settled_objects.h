// Of which files the inode tells the size: one bit each.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <memory>

#include "base/guarded.h"
#include "pnfs/data_handle.h"

namespace braid::pnfs_mds {

// A file is not in the set until it was settled in this run: so nothing is taken for true that a run before
// did not get to write down. Object numbers lie close together, so a file costs little more than its bit.
// Thread-safe.
class SettledObjects {
 public:
  [[nodiscard]] bool has(pnfs::ObjectId object) const;
  void add(pnfs::ObjectId object);
  void remove(pnfs::ObjectId object);

 private:
  static constexpr std::uint64_t chunk_bits = 1024;
  using Chunk = std::bitset<chunk_bits>;
  base::Guarded<std::map<std::uint64_t, Chunk>> chunks_;  // by number / chunk_bits; none is empty
};

}  // namespace braid::pnfs_mds
