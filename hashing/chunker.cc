#include "hashing/chunker.h"

#include <algorithm>

namespace braid::hashing {

std::optional<Cut> Chunker::next(base::BytesView data, std::uint64_t offset, bool is_end) const {
  if (data.empty()) return std::nullopt;
  const ChunkSizes& sizes = params_.sizes();
  if (params_.is_fixed()) {
    // Blocks are aligned in the file, so a stream that starts inside one ends it first.
    const auto length = static_cast<std::uint32_t>(sizes.max - offset % sizes.max);
    if (data.size() >= length) return Cut{length, CutReason::forced};
  } else {
    const std::size_t strict_end = std::min<std::size_t>(data.size(), sizes.avg);
    const std::size_t loose_end = std::min<std::size_t>(data.size(), sizes.max);
    if (sizes.min < strict_end) {
      const std::size_t p = scan_(params_.tables(), data.data(), sizes.min, strict_end, params_.strict());
      if (p < strict_end) return Cut{static_cast<std::uint32_t>(p + 1), CutReason::content};
    }
    if (sizes.avg < loose_end) {
      const std::size_t p = scan_(params_.tables(), data.data(), sizes.avg, loose_end, params_.loose());
      if (p < loose_end) return Cut{static_cast<std::uint32_t>(p + 1), CutReason::content};
    }
    if (data.size() >= sizes.max) return Cut{sizes.max, CutReason::forced};
  }
  if (!is_end) return std::nullopt;
  return Cut{static_cast<std::uint32_t>(data.size()), CutReason::end};
}

}  // namespace braid::hashing
