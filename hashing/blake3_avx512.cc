// Sixteen lanes in AVX-512 registers. This file is compiled with -mavx512f -mavx512bw -mavx512dq -mavx512vl.
#include <immintrin.h>

#include "hashing/blake3_simd.h"

namespace braid::hashing::blake3 {
namespace {

struct Avx512 {
  using Vector = __m512i;
  static constexpr std::size_t width = 16;

  static Vector all(std::uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  static Vector load(const std::uint32_t* from) { return _mm512_load_si512(from); }
  static Vector add(Vector a, Vector b) { return _mm512_add_epi32(a, b); }
  static Vector exor(Vector a, Vector b) { return _mm512_xor_si512(a, b); }
  static Vector either(Vector a, Vector b) { return _mm512_or_si512(a, b); }
  static __mmask16 equal(Vector a, Vector b) { return _mm512_cmpeq_epi32_mask(a, b); }
  static __mmask16 greater(Vector a, Vector b) { return _mm512_cmpgt_epi32_mask(a, b); }
  static Vector select(__mmask16 condition, Vector yes, Vector no) {
    return _mm512_mask_blend_epi32(condition, no, yes);
  }
  static Vector rotate16(Vector x) { return _mm512_ror_epi32(x, 16); }
  static Vector rotate12(Vector x) { return _mm512_ror_epi32(x, 12); }
  static Vector rotate8(Vector x) { return _mm512_ror_epi32(x, 8); }
  static Vector rotate7(Vector x) { return _mm512_ror_epi32(x, 7); }

  // Rows become columns of a 16 by 16 square of words.
  static void transpose(Vector* r) {
    Vector t[16], u[16];
    for (int i = 0; i < 8; ++i) {
      t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
      t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 4; ++i) {
      u[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
      u[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
      u[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
      u[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
    }
    // u[4 g + c]: lane k of it holds column 4 k + c of rows 4 g .. 4 g + 3.
    for (int c = 0; c < 4; ++c) {
      const Vector low01 = _mm512_shuffle_i32x4(u[c], u[4 + c], 0x88);
      const Vector high01 = _mm512_shuffle_i32x4(u[c], u[4 + c], 0xdd);
      const Vector low23 = _mm512_shuffle_i32x4(u[8 + c], u[12 + c], 0x88);
      const Vector high23 = _mm512_shuffle_i32x4(u[8 + c], u[12 + c], 0xdd);
      r[c] = _mm512_shuffle_i32x4(low01, low23, 0x88);
      r[8 + c] = _mm512_shuffle_i32x4(low01, low23, 0xdd);
      r[4 + c] = _mm512_shuffle_i32x4(high01, high23, 0x88);
      r[12 + c] = _mm512_shuffle_i32x4(high01, high23, 0xdd);
    }
  }

  static void load_blocks(const std::byte* const* from, Vector* m) {
    for (std::size_t i = 0; i < width; ++i) {
      m[i] = _mm512_loadu_si512(from[i]);
      _mm_prefetch(from[i] + 256, _MM_HINT_T0);
    }
    transpose(m);
  }

  static void store_values(const Vector* h, const Lane* lanes) {
    Vector rows[16];
    for (int i = 0; i < 8; ++i) rows[i] = h[i];
    for (int i = 8; i < 16; ++i) rows[i] = _mm512_setzero_si512();
    transpose(rows);
    for (std::size_t i = 0; i < width; ++i)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes[i].out), _mm512_castsi512_si256(rows[i]));
  }
};

// Half a group or less is faster in half the width: three ports take 256-bit operations, two take 512-bit
// ones.
void run(const LaneOptions& options, const Lane* lanes, std::size_t count) {
  const std::size_t rest = count % Avx512::width;
  const std::size_t wide = rest <= Avx512::width / 2 ? count - rest : count;
  run_lanes<Avx512>(options, lanes, wide);
  if (wide < count) avx2_kernel.run(options, lanes + wide, count - wide);
}

}  // namespace

const Kernel avx512_kernel{Avx512::width, run};

}  // namespace braid::hashing::blake3
