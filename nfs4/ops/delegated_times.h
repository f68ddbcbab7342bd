// Times of a file that the holder of a delegation says, by SETATTR or in its answer to CB_GETATTR (RFC 9754
// section 5).
#pragma once

#include <optional>

#include "base/clock.h"
#include "vfs/types.h"

namespace braid::nfs4::ops {

// What becomes of one of them. `known`: as the file has it. A time that is not later is passed over, one in
// the future becomes the present: so nobody who may not set a file's times as he likes does it this way.
vfs::SetTime delegated_time(const std::optional<vfs::Time>& said, const vfs::Time& known, base::WallTime now);

}  // namespace braid::nfs4::ops
