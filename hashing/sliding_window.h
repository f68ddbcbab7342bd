// The content-based chunking of Al-Kiswany et al. (stdchk, HashGPU), to reproduce their comparison: every
// step bytes the MD5 of the last window bytes is taken; where its low bits are zero, a chunk ends.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "hashing/md5_core.h"

namespace braid::hashing {

struct SlidingWindow {
  std::uint32_t window = 20;     // bytes hashed at a position; 1 to 55, what fits one block of MD5
  std::uint32_t step = 1;        // between positions; >= 1
  std::uint32_t zero_bits = 14;  // 1 to 32, of the digest's first word, little-endian
};

// EINVAL for parameters outside their limits.
base::Result<void> check(const SlidingWindow& parameters);
// Which bits of the digest's first word must be zero.
constexpr std::uint32_t mask_of(const SlidingWindow& parameters) {
  return static_cast<std::uint32_t>((std::uint64_t{1} << parameters.zero_bits) - 1);
}

// The ends of the chunks of `data`: the positions behind each window that qualifies, in order. What lies
// behind the last of them belongs to the next buffer. EINVAL for parameters outside their limits.
base::Result<std::vector<std::uint64_t>> sliding_cuts(const SlidingWindow& parameters, base::BytesView data);

}  // namespace braid::hashing
