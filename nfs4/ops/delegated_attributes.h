// Attributes of a file that somebody has a delegation of (RFC 8881 10.4.3; its times: RFC 9754 section 5).
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "nfs4/attributes/bitmap.h"
#include "nfs4/compound/compound.h"
#include "nfs4/compound/place.h"
#include "nfs4/op4.h"
#include "vfs/types.h"

namespace braid::nfs4::ops {

// Takes back what others hold of the current filehandle that a change of attributes would make wrong: DELAY
// while delegations are recalled.
Op4<> break_delegations(Compound& compound, const Place& at);

// Before `wanted` of `at` is looked at: asks the holder of another client's write delegation what it has
// changed, so that the change attribute and the times say that there is something new. Its result is the size
// in place of the file's own, if the holder has another one. DELAY while the delegation is recalled because
// the holder did not answer. `at` outlives it.
Op4<std::optional<std::uint64_t>> see_through_delegation(Compound& compound, const Place& at, Bitmap wanted);

// What becomes of one of the times that the holder of a delegation says, by SETATTR or in its answer to
// CB_GETATTR. `known`: as the file has it. A time that is not later is passed over, one in
// the future becomes the present: so nobody who may not set a file's times as he likes does it this way.
vfs::SetTime delegated_time(const std::optional<vfs::Time>& said, const vfs::Time& known, base::WallTime now);

}  // namespace braid::nfs4::ops
