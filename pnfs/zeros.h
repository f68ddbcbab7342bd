// Zeros for what nobody has written.
#pragma once

#include <cstdint>

#include "io/payload.h"
#include "io/slab.h"

namespace braid::pnfs {

// So many bytes, all of them by reference to `zeros`: a range that is not empty, and has nothing else.
void append_zeros(io::Payload& to, std::uint64_t count, const io::SlabRange& zeros);

}  // namespace braid::pnfs
