#include "pnfs/zeros.h"

#include <algorithm>
#include <utility>

namespace braid::pnfs {

void append_zeros(io::Payload& to, std::uint64_t count, const io::SlabRange& zeros) {
  while (count > 0) {
    io::SlabRange piece = zeros;
    piece.length = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, piece.length));
    count -= piece.length;
    to.append(std::move(piece));
  }
}

}  // namespace braid::pnfs
