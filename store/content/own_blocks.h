// The blocks of a sealed file in which its recipe shows nothing, as far as that was seen: a write to them is
// one to a plain file.
#pragma once

#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "base/bytes.h"

namespace braid::store {

// Thread-safe. What does not fit into memory is forgotten: nobody may conclude anything from a block that is
// not in it.
class OwnBlocks {
 public:
  static constexpr std::uint64_t block_bytes = 4096;
  static constexpr std::size_t blocks_per_group = 4096;  // 16 MiB of a file
  // Groups, of 512 bytes, of all files of a store together: what is known is of 256 GiB.
  static constexpr std::size_t groups_max = 16384;

  // `groups`: how many all files have.
  explicit OwnBlocks(std::atomic<std::size_t>& groups) : all_groups_(groups) {}
  ~OwnBlocks() { clear(); }
  OwnBlocks(const OwnBlocks&) = delete;
  OwnBlocks& operator=(const OwnBlocks&) = delete;

  // The recipe has none of the bytes [begin, end) that anybody sees; blocks that they fill in part are not
  // taken.
  void add(std::uint64_t begin, std::uint64_t end);
  // Whether each block that [begin, end) touches was added.
  [[nodiscard]] bool has(std::uint64_t begin, std::uint64_t end) const;
  void clear();

 private:
  using Group = std::bitset<blocks_per_group>;

  std::atomic<std::size_t>& all_groups_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Group> groups_;
};

}  // namespace braid::store
