#include "rdma/buffers.h"

#include <algorithm>
#include <utility>

namespace braid::rdma {

base::Result<io::Payload> take_room(io::SlabCursor& cursor, std::size_t bytes) {
  io::Payload room;
  while (bytes > io::small_slab_bytes) {
    auto slab = cursor.pool().acquire(io::SlabSize::large);
    if (!slab) return base::fail(slab.error());
    const auto here = static_cast<std::uint32_t>(std::min(bytes, io::large_slab_bytes));
    room.append({std::move(*slab), 0, here});
    bytes -= here;
  }
  if (bytes == 0) return room;
  auto rest = cursor.carve(bytes);
  if (!rest) return base::fail(rest.error());
  room.append(std::move(*rest));
  return room;
}

std::size_t slab_bytes_for(std::size_t bytes) {
  const std::size_t large = bytes / io::large_slab_bytes;
  const std::size_t rest = bytes % io::large_slab_bytes;
  const std::size_t last = rest > io::small_slab_bytes ? io::large_slab_bytes : io::small_slab_bytes;
  return large * io::large_slab_bytes + (rest > 0 ? last : 0);
}

io::Payload join(io::SlabCursor& cursor, io::Payload header, const io::Payload& message,
                 std::uint32_t pieces_max) {
  if (header.ranges().size() + message.ranges().size() <= pieces_max) {
    header.append(message);
    return header;
  }
  const auto front = header.in_memory();
  const auto rest = message.in_memory();
  auto flat = cursor.carve(header.size() + message.size());
  if (!front || !rest || !flat) return {};
  const base::MutableBytes to = flat->writable();
  front->copy_to(0, to.first(front->size()));
  rest->copy_to(0, to.subspan(front->size()));
  return io::Payload(std::move(*flat));
}

}  // namespace braid::rdma
