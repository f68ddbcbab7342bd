// The kinds of work that the POSIX file system does, as placement tells them apart.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "io/blocking_pool.h"

namespace braid::vfs::posix {

enum class Call : std::uint8_t {
  open,        // a handle that has no descriptor yet
  getattr,     // statx of an open descriptor
  permission,  // ACCESS
  lookup,      // a name in a directory
  readlink,    // the content of a link
  read,        // file data
  write,       // file data into the page cache
  change,      // names and attributes
  directory,   // listing
  status,      // statfs
  sync,        // anything that waits for the medium
  close,       // the last reference to an open file
  lock,        // byte-range locks and leases
  seek,        // where data and holes are
  space,       // allocating, punching, cloning and copying
};
constexpr std::size_t calls = 15;

constexpr io::BlockingReason reason_of(Call call) {
  using io::BlockingReason;
  constexpr std::array<BlockingReason, calls> reasons{
      BlockingReason::open,      BlockingReason::metadata, BlockingReason::metadata, BlockingReason::metadata,
      BlockingReason::metadata,  BlockingReason::read,     BlockingReason::write,    BlockingReason::metadata,
      BlockingReason::directory, BlockingReason::metadata, BlockingReason::sync,     BlockingReason::other,
      BlockingReason::metadata,  BlockingReason::metadata, BlockingReason::write};
  return reasons[static_cast<std::size_t>(call)];
}

}  // namespace braid::vfs::posix
