// Memory for messages, as the device takes it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "io/payload.h"
#include "io/slab.h"

namespace braid::rdma {

// Memory for so many bytes: large slabs, and for the rest at most a small one. With `bytes` a multiple of
// four the last piece is at least four bytes long. Fails with ENOBUFS of the pool.
base::Result<io::Payload> take_room(io::SlabCursor& cursor, std::size_t bytes);
// The bytes of all slabs that may be held by such memory.
std::size_t slab_bytes_for(std::size_t bytes);

// A header and the message behind it in at most `pieces_max` pieces, copied together if there are more; at
// most small_slab_bytes then. Empty if there is no memory.
io::Payload join(io::SlabCursor& cursor, io::Payload header, const io::Payload& message,
                 std::uint32_t pieces_max);

}  // namespace braid::rdma
