// What a file system can do that not all can, found out when it is exported.
#pragma once

#include <cstdint>

namespace braid::vfs::posix {

struct Features {
  std::uint32_t clone_block_bytes = 0;  // 0: no reflinks
  bool xattrs = false;                  // in the "user." name space
  bool acls = false;                    // POSIX ACLs
};

// `directory` is open for reading; `magic` and `block_bytes` are of statfs(2).
Features features_of(int directory, std::uint64_t magic, std::uint32_t block_bytes);

}  // namespace braid::vfs::posix
