// Cuts a stream, one chunk after the other. Which cut comes next depends only on the bytes since the last
// one, so a stream may be handed over in any pieces.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "hashing/chunk_params.h"

namespace braid::hashing {

enum class CutReason : std::uint8_t {
  content,  // a boundary that the bytes decided
  forced,   // `max`, or a fixed block's end
  end,      // the stream ends here
};

struct Cut {
  std::uint32_t length = 0;
  CutReason reason = CutReason::content;
};

// Stateless apart from its parameters; the parameters must outlive it.
class Chunker {
 public:
  explicit Chunker(const ChunkParams& params, Simd simd = best_simd())
      : params_(params), scan_(gear_scan(simd)) {}

  // The first chunk of `data`, which begins at a cut (or the start) of its stream, at byte `offset` of it.
  // Nothing if that depends on bytes behind `data`, or if data is empty; with `is_end` nothing follows.
  // offset + data.size() must not wrap.
  [[nodiscard]] std::optional<Cut> next(base::BytesView data, std::uint64_t offset, bool is_end) const;

 private:
  const ChunkParams& params_;
  GearScan scan_;
};

}  // namespace braid::hashing
