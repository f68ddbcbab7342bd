// Which file system the objects of a data server are on.
#pragma once

#include <array>
#include <cstddef>

#include "pnfs/control.x.h"

namespace braid::pnfs_ds {

using FileSystemId = std::array<std::byte, pnfs::FILE_SYSTEM_ID_BYTES>;

// The same for all directories of one file system of this host, and another one on every other host; until
// the host starts anew. Zeros: that cannot be told. Blocks.
FileSystemId file_system_id(int directory);

}  // namespace braid::pnfs_ds
