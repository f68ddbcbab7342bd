// Eight lanes in AVX2 registers. This file is compiled with -mavx2.
#include <immintrin.h>

#include "hashing/blake3_simd.h"

namespace braid::hashing::blake3 {
namespace {

struct Avx2 {
  using Vector = __m256i;
  static constexpr std::size_t width = 8;

  static Vector all(std::uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
  static Vector load(const std::uint32_t* from) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(from));
  }
  static Vector add(Vector a, Vector b) { return _mm256_add_epi32(a, b); }
  static Vector exor(Vector a, Vector b) { return _mm256_xor_si256(a, b); }
  static Vector either(Vector a, Vector b) { return _mm256_or_si256(a, b); }
  static Vector equal(Vector a, Vector b) { return _mm256_cmpeq_epi32(a, b); }
  static Vector greater(Vector a, Vector b) { return _mm256_cmpgt_epi32(a, b); }
  static Vector select(Vector condition, Vector yes, Vector no) {
    return _mm256_blendv_epi8(no, yes, condition);
  }
  static Vector rotate16(Vector x) {
    return _mm256_shuffle_epi8(x, _mm256_set_epi8(13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2, 13,
                                                  12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2));
  }
  static Vector rotate12(Vector x) { return either(_mm256_srli_epi32(x, 12), _mm256_slli_epi32(x, 20)); }
  static Vector rotate8(Vector x) {
    return _mm256_shuffle_epi8(x, _mm256_set_epi8(12, 15, 14, 13, 8, 11, 10, 9, 4, 7, 6, 5, 0, 3, 2, 1, 12,
                                                  15, 14, 13, 8, 11, 10, 9, 4, 7, 6, 5, 0, 3, 2, 1));
  }
  static Vector rotate7(Vector x) { return either(_mm256_srli_epi32(x, 7), _mm256_slli_epi32(x, 25)); }

  // Rows become columns of an 8 by 8 square of words.
  static void transpose(Vector* r) {
    Vector t[8], u[8];
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

  static void load_blocks(const std::byte* const* from, Vector* m) {
    for (std::size_t i = 0; i < width; ++i) {
      m[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from[i]));
      m[i + 8] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from[i] + 32));
      _mm_prefetch(from[i] + 256, _MM_HINT_T0);
    }
    transpose(m);
    transpose(m + 8);
  }

  static void store_values(Vector* h, const Lane* lanes) {
    transpose(h);
    for (std::size_t i = 0; i < width; ++i)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes[i].out), h[i]);
  }
};

}  // namespace

const Kernel avx2_kernel{Avx2::width, run_lanes<Avx2>};

}  // namespace braid::hashing::blake3
