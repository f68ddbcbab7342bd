// What has to be known about kinds of file systems because no call tells it.
#pragma once

#include <cstdint>
#include <string_view>

#include "vfs/posix/placement.h"

namespace braid::vfs::posix {

struct Traits {
  std::uint32_t magic = 0;  // statfs(2) f_type; 0 in the row for everything else
  PlacementPolicy policy = PlacementPolicy::pool_always;
  bool local = false;            // changed by this machine alone
  bool in_memory = false;        // nothing survives a power loss: syncing is pointless
  bool stable_positions = true;  // getdents64 positions stay valid while entries come and go
  bool birth_names_inode =
      false;                      // no two inodes ever had the same number and time of birth (snapshots have)
  bool privileged_blocks = true;  // may keep blocks back for user 0, so data is written as the caller
  std::uint32_t link_max = 127;
};

// `release` is the kernel's, as in uname(2): it decides about directory positions on tmpfs.
Traits traits_of(std::uint64_t magic, std::string_view release);

// The largest file: what lseek(2) would allow.
std::uint64_t file_bytes_max(std::uint64_t magic, std::uint64_t block_bytes);

}  // namespace braid::vfs::posix
