// Attributes of a file that another client changes without telling (RFC 8881 10.4.3).
#pragma once

#include <cstdint>
#include <optional>

#include "nfs4/attributes/bitmap.h"
#include "nfs4/compound/compound.h"
#include "nfs4/op4.h"

namespace braid::nfs4::ops {

// Before `wanted` of `at` is looked at: asks the holder of another client's write delegation what it has
// changed, so that the change attribute and the times say that there is something new. Its result is the size
// in place of the file's own, if the holder has another one. DELAY while the delegation is recalled because
// the holder did not answer. `at` outlives it.
Op4<std::optional<std::uint64_t>> see_through_delegation(Compound& compound, const Place& at, Bitmap wanted);

}  // namespace braid::nfs4::ops
