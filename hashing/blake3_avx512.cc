// Sixteen, eight or four lanes with AVX-512. This file is compiled with -mavx512f -mavx512bw -mavx512dq
// -mavx512vl.
#include "hashing/blake3_rows.h"
#include "hashing/blake3_simd.h"
#include "hashing/blake3_vector.h"

namespace braid::hashing::blake3 {
namespace {

// Two quarter rounds. Written out because sixteen words of state and sixteen of the message are just the
// registers that there are: the operations in place need no other, but the compilers' schedules do, and
// spill.
template <class Vector>
[[gnu::always_inline]] inline void mix_two_in_place(Vector& a0, Vector& b0, Vector& c0, Vector& d0,
                                                    const Vector& x0, const Vector& y0, Vector& a1,
                                                    Vector& b1, Vector& c1, Vector& d1, const Vector& x1,
                                                    const Vector& y1) {
  asm("vpaddd %[x0], %[a0], %[a0]\n"
      "vpaddd %[x1], %[a1], %[a1]\n"
      "vpaddd %[b0], %[a0], %[a0]\n"
      "vpaddd %[b1], %[a1], %[a1]\n"
      "vpxord %[a0], %[d0], %[d0]\n"
      "vpxord %[a1], %[d1], %[d1]\n"
      "vprord $16, %[d0], %[d0]\n"
      "vprord $16, %[d1], %[d1]\n"
      "vpaddd %[d0], %[c0], %[c0]\n"
      "vpaddd %[d1], %[c1], %[c1]\n"
      "vpxord %[c0], %[b0], %[b0]\n"
      "vpxord %[c1], %[b1], %[b1]\n"
      "vprord $12, %[b0], %[b0]\n"
      "vprord $12, %[b1], %[b1]\n"
      "vpaddd %[y0], %[a0], %[a0]\n"
      "vpaddd %[y1], %[a1], %[a1]\n"
      "vpaddd %[b0], %[a0], %[a0]\n"
      "vpaddd %[b1], %[a1], %[a1]\n"
      "vpxord %[a0], %[d0], %[d0]\n"
      "vpxord %[a1], %[d1], %[d1]\n"
      "vprord $8, %[d0], %[d0]\n"
      "vprord $8, %[d1], %[d1]\n"
      "vpaddd %[d0], %[c0], %[c0]\n"
      "vpaddd %[d1], %[c1], %[c1]\n"
      "vpxord %[c0], %[b0], %[b0]\n"
      "vpxord %[c1], %[b1], %[b1]\n"
      "vprord $7, %[b0], %[b0]\n"
      "vprord $7, %[b1], %[b1]\n"
      : [a0] "+v"(a0), [b0] "+v"(b0), [c0] "+v"(c0), [d0] "+v"(d0), [a1] "+v"(a1), [b1] "+v"(b1),
        [c1] "+v"(c1), [d1] "+v"(d1)
      : [x0] "v"(x0), [y0] "v"(y0), [x1] "v"(x1), [y1] "v"(y1));
}

struct Sixteen {
  using Vector = __m512i;
  static constexpr std::size_t width = 16;

  static Vector all(std::uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  static Vector load(const std::uint32_t* from) { return _mm512_load_si512(from); }
  static Vector sum(Vector a, Vector b) { return _mm512_add_epi32(a, b); }
  static Vector exor(Vector a, Vector b) { return _mm512_xor_si512(a, b); }
  static Vector either(Vector a, Vector b) { return _mm512_or_si512(a, b); }
  static Vector low_words(Vector a, Vector b) { return _mm512_unpacklo_epi32(a, b); }
  static Vector high_words(Vector a, Vector b) { return _mm512_unpackhi_epi32(a, b); }
  static Vector low_pairs(Vector a, Vector b) { return _mm512_unpacklo_epi64(a, b); }
  static Vector high_pairs(Vector a, Vector b) { return _mm512_unpackhi_epi64(a, b); }
  static __mmask16 equal(Vector a, Vector b) { return _mm512_cmpeq_epi32_mask(a, b); }
  static __mmask16 greater(Vector a, Vector b) { return _mm512_cmpgt_epi32_mask(a, b); }
  static Vector select(__mmask16 condition, Vector yes, Vector no) {
    return _mm512_mask_blend_epi32(condition, no, yes);
  }
  template <class... Words>
  [[gnu::always_inline]] static void mix_two(Words&... words) {
    mix_two_in_place<Vector>(words...);
  }

  // Words 0 to 7 of 16 lanes, from `offset` on: word w of every lane in m[w].
  [[gnu::always_inline]] static void load_half(const std::byte* const* from, std::size_t offset, Vector* m) {
    Vector r[8];
    // Row i: lanes i and i + 4; rows from 4 on: lanes i + 4 and i + 8.
    for (std::size_t i = 0; i < 8; ++i) {
      const std::size_t lane = i < 4 ? i : i + 4;
      r[i] = _mm512_inserti64x4(_mm512_castsi256_si512(load_row(from[lane] + offset)),
                                load_row(from[lane + 4] + offset), 1);
    }
    transpose_squares<Sixteen>(r);
    // 128-bit parts of r[c]: word c of lanes 0 to 3, word 4 + c of them, word c of lanes 4 to 7, word 4 + c
    // of them; r[4 + c] has lanes 8 to 15.
    for (int c = 0; c < 4; ++c) {
      m[c] = _mm512_shuffle_i32x4(r[c], r[4 + c], 0x88);
      m[4 + c] = _mm512_shuffle_i32x4(r[c], r[4 + c], 0xdd);
    }
  }
  static void load_blocks(const std::byte* const* from, std::size_t offset, Vector* m) {
    load_half(from, offset, m);
    load_half(from, offset + 32, m + 8);
    for (std::size_t i = 0; i < width; ++i) _mm_prefetch(from[i] + offset + prefetch_bytes, _MM_HINT_T0);
  }

  static void store_two(Vector values, Words* low, Words* high) {
    store_row(low, _mm512_castsi512_si256(values));
    store_row(high, _mm512_extracti64x4_epi64(values, 1));
  }
  static void store_values(Vector* h, const Lane* lanes) {
    transpose_squares<Sixteen>(h);
    // 128-bit part k of h[c] is words 0 to 3 of lane 4 k + c, of h[4 + c] words 4 to 7.
    const Vector first = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
    const Vector second = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
    for (std::size_t c = 0; c < 4; ++c) {
      store_two(_mm512_permutex2var_epi64(h[c], first, h[4 + c]), lanes[c].out, lanes[4 + c].out);
      store_two(_mm512_permutex2var_epi64(h[c], second, h[4 + c]), lanes[8 + c].out, lanes[12 + c].out);
    }
  }
};

// Eight lanes with the rotations, masks and the number of registers of AVX-512.
struct Half : Eight {
  static __mmask8 equal(Vector a, Vector b) { return _mm256_cmpeq_epi32_mask(a, b); }
  static __mmask8 greater(Vector a, Vector b) { return _mm256_cmpgt_epi32_mask(a, b); }
  static Vector select(__mmask8 condition, Vector yes, Vector no) {
    return _mm256_mask_blend_epi32(condition, no, yes);
  }
  template <class... Words>
  [[gnu::always_inline]] static void mix_two(Words&... words) {
    mix_two_in_place<Vector>(words...);
  }
};

// Half a group or less is faster in half the width: three ports take 256-bit operations, two take 512-bit
// ones.
void run(const LaneOptions& options, const Lane* lanes, std::size_t count) {
  const std::size_t rest = count % Sixteen::width;
  const std::size_t wide = rest <= Half::width ? count - rest : count;
  run_lanes<Sixteen>(options, lanes, wide);
  if (wide == count) return;
  if (rest <= rows_width)
    run_rows(options, lanes + wide, rest);
  else
    run_lanes<Half>(options, lanes + wide, rest);
}

}  // namespace

const Kernel avx512_kernel{Sixteen::width, run};

}  // namespace braid::hashing::blake3
