// How new files are spread over data servers.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "pnfs/striping.h"

namespace braid::pnfs_mds {

// As it is configured.
struct StripePolicy {
  std::uint32_t unit = base::MiB;  // bytes: Striping
  std::uint32_t width = 4;         // servers of a file, if there are as many; 1 to Striping::width_max
  pnfs::Packing packing = pnfs::Packing::sparse;
};

}  // namespace braid::pnfs_mds
