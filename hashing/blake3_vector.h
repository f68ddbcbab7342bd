// What the vector kernels of BLAKE3 share: moving words between lanes in memory and vectors. Internal
// linkage: each file that includes this has its own, compiled for its instruction set.
#pragma once

#include <immintrin.h>

#include "hashing/blake3_lanes.h"

namespace braid::hashing::blake3 {
namespace {

// How far ahead a lane's blocks are fetched: lanes are a kilobyte apart, which no hardware prefetcher
// follows.
constexpr std::size_t prefetch_bytes = 256;

// Transposes squares of four words: where r[i] and r[4 + i] have rows in their 128-bit parts, r[c] gets
// column c of the rows in r[0..4), r[4 + c] that of the rows in r[4..8).
template <class V>
[[gnu::always_inline]] inline void transpose_squares(typename V::Vector* r) {
  typename V::Vector t[8];
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = V::low_words(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = V::high_words(r[2 * i], r[2 * i + 1]);
  }
  for (int i = 0; i < 2; ++i) {
    r[4 * i] = V::low_pairs(t[4 * i], t[4 * i + 2]);
    r[4 * i + 1] = V::high_pairs(t[4 * i], t[4 * i + 2]);
    r[4 * i + 2] = V::low_pairs(t[4 * i + 1], t[4 * i + 3]);
    r[4 * i + 3] = V::high_pairs(t[4 * i + 1], t[4 * i + 3]);
  }
}

inline __m256i load_row(const std::byte* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
// One store for each value: whoever reads it next does so with one load, and two stores would hold that up.
inline void store_row(Words* to, __m256i row) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), row); }

// Eight lanes of 256 bits, without the operations that AVX2 and AVX-512 do differently.
struct Eight {
  using Vector = __m256i;
  static constexpr std::size_t width = 8;

  static Vector all(std::uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
  static Vector load(const std::uint32_t* from) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(from));
  }
  static Vector sum(Vector a, Vector b) { return _mm256_add_epi32(a, b); }
  static Vector exor(Vector a, Vector b) { return _mm256_xor_si256(a, b); }
  static Vector either(Vector a, Vector b) { return _mm256_or_si256(a, b); }
  static Vector low_words(Vector a, Vector b) { return _mm256_unpacklo_epi32(a, b); }
  static Vector high_words(Vector a, Vector b) { return _mm256_unpackhi_epi32(a, b); }
  static Vector low_pairs(Vector a, Vector b) { return _mm256_unpacklo_epi64(a, b); }
  static Vector high_pairs(Vector a, Vector b) { return _mm256_unpackhi_epi64(a, b); }

  // Rows become columns of eight by eight words.
  [[gnu::always_inline]] static void transpose(Vector* r) {
    transpose_squares<Eight>(r);
    for (int c = 0; c < 4; ++c) {
      const Vector left = r[c], right = r[c + 4];
      r[c] = _mm256_permute2x128_si256(left, right, 0x20);
      r[c + 4] = _mm256_permute2x128_si256(left, right, 0x31);
    }
  }
  static void load_blocks(const std::byte* const* from, std::size_t offset, Vector* m) {
    for (std::size_t i = 0; i < width; ++i) {
      m[i] = load_row(from[i] + offset);
      m[i + 8] = load_row(from[i] + offset + 32);
      _mm_prefetch(from[i] + offset + prefetch_bytes, _MM_HINT_T0);
    }
    transpose(m);
    transpose(m + 8);
  }
  static void store_values(Vector* h, const Lane* lanes) {
    transpose(h);
    for (std::size_t i = 0; i < width; ++i) store_row(lanes[i].out, h[i]);
  }
};

}  // namespace
}  // namespace braid::hashing::blake3
