// Loading and storing eight lanes of 256-bit registers, for AVX2 and for AVX-512. Internal linkage: each file
// that includes this has its own, compiled for its instruction set.
#pragma once

#include <immintrin.h>

#include "hashing/blake3_lanes.h"

namespace braid::hashing::blake3 {
namespace {

// Rows become columns of an 8 by 8 square of words.
inline void transpose_eight(__m256i* r) {
  __m256i t[8], u[8];
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = _mm256_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
  }
  for (int i = 0; i < 2; ++i) {
    u[4 * i] = _mm256_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
    u[4 * i + 1] = _mm256_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
    u[4 * i + 2] = _mm256_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
    u[4 * i + 3] = _mm256_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm256_permute2x128_si256(u[i], u[i + 4], 0x20);
    r[i + 4] = _mm256_permute2x128_si256(u[i], u[i + 4], 0x31);
  }
}

inline void load_blocks_of_eight(const std::byte* const* from, std::size_t offset, __m256i* m) {
  for (std::size_t i = 0; i < 8; ++i) {
    m[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from[i] + offset));
    m[i + 8] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from[i] + offset + 32));
    _mm_prefetch(from[i] + offset + 256, _MM_HINT_T0);
  }
  transpose_eight(m);
  transpose_eight(m + 8);
}

inline void store_values_of_eight(__m256i* h, const Lane* lanes) {
  transpose_eight(h);
  for (std::size_t i = 0; i < 8; ++i) _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes[i].out), h[i]);
}

}  // namespace
}  // namespace braid::hashing::blake3
