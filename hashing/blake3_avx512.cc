// Sixteen lanes in AVX-512 registers. This file is compiled with -mavx512f -mavx512bw -mavx512dq -mavx512vl.
#include <immintrin.h>

#include "hashing/blake3_eight.h"
#include "hashing/blake3_simd.h"

namespace braid::hashing::blake3 {
namespace {

struct Avx512 {
  using Vector = __m512i;
  static constexpr std::size_t width = 16;

  static Vector all(std::uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  static Vector load(const std::uint32_t* from) { return _mm512_load_si512(from); }
  static Vector sum(Vector a, Vector b) { return _mm512_add_epi32(a, b); }
  static Vector exor(Vector a, Vector b) { return _mm512_xor_si512(a, b); }
  static Vector either(Vector a, Vector b) { return _mm512_or_si512(a, b); }
  static __mmask16 equal(Vector a, Vector b) { return _mm512_cmpeq_epi32_mask(a, b); }
  static __mmask16 greater(Vector a, Vector b) { return _mm512_cmpgt_epi32_mask(a, b); }
  static Vector select(__mmask16 condition, Vector yes, Vector no) {
    return _mm512_mask_blend_epi32(condition, no, yes);
  }

  // Two quarter rounds. Written out because sixteen words of state and sixteen of the message are just the
  // registers that there are: the operations in place need no other, but the compilers' schedules do, and
  // spill.
  [[gnu::always_inline]] static void mix_two(Vector& a0, Vector& b0, Vector& c0, Vector& d0, const Vector& x0,
                                             const Vector& y0, Vector& a1, Vector& b1, Vector& c1, Vector& d1,
                                             const Vector& x1, const Vector& y1) {
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
        : [x0] "vm"(x0), [y0] "vm"(y0), [x1] "vm"(x1), [y1] "vm"(y1));
  }

  // Words 0 to 7 of 16 lanes, from `offset` on: word w of every lane in m[w].
  static void load_half(const std::byte* const* from, std::size_t offset, Vector* m) {
    Vector r[8], t[8], u[8];
    // Row i: lanes i and i + 4, rows from 4 on: lanes i + 4 and i + 8.
    for (std::size_t i = 0; i < 8; ++i) {
      const std::size_t lane = i < 4 ? i : i + 4;
      const auto* low = reinterpret_cast<const __m256i*>(from[lane] + offset);
      const auto* high = reinterpret_cast<const __m256i*>(from[lane + 4] + offset);
      r[i] = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256(low)), _mm256_loadu_si256(high), 1);
    }
    for (int i = 0; i < 4; ++i) {
      t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
      t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 2; ++i) {
      u[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
      u[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
      u[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
      u[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
    }
    // 128-bit lanes of u[c]: word c of lanes 0 to 3, word 4 + c of them, word c of lanes 4 to 7, word 4 + c
    // of them; u[4 + c] has lanes 8 to 15.
    for (int c = 0; c < 4; ++c) {
      m[c] = _mm512_shuffle_i32x4(u[c], u[4 + c], 0x88);
      m[4 + c] = _mm512_shuffle_i32x4(u[c], u[4 + c], 0xdd);
    }
  }

  static void load_blocks(const std::byte* const* from, std::size_t offset, Vector* m) {
    load_half(from, offset, m);
    load_half(from, offset + 32, m + 8);
    for (std::size_t i = 0; i < width; ++i) _mm_prefetch(from[i] + offset + 256, _MM_HINT_T0);
  }

  static void store_values(const Vector* h, const Lane* lanes) {
    Vector t[8], u[8];
    for (int i = 0; i < 4; ++i) {
      t[2 * i] = _mm512_unpacklo_epi32(h[2 * i], h[2 * i + 1]);
      t[2 * i + 1] = _mm512_unpackhi_epi32(h[2 * i], h[2 * i + 1]);
    }
    for (int i = 0; i < 2; ++i) {
      u[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
      u[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
      u[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
      u[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
    }
    // 128-bit lane k of u[c] is words 0 to 3 of lane 4 k + c, of u[4 + c] words 4 to 7.
    for (std::size_t c = 0; c < 4; ++c) {
      store_four<0>(u[c], u[4 + c], lanes[c].out);
      store_four<1>(u[c], u[4 + c], lanes[4 + c].out);
      store_four<2>(u[c], u[4 + c], lanes[8 + c].out);
      store_four<3>(u[c], u[4 + c], lanes[12 + c].out);
    }
  }
  template <int K>
  static void store_four(Vector low, Vector high, Words* out) {
    auto* to = reinterpret_cast<__m128i*>(out);
    _mm_storeu_si128(to, _mm512_extracti32x4_epi32(low, K));
    _mm_storeu_si128(to + 1, _mm512_extracti32x4_epi32(high, K));
  }
};

// Eight lanes with the rotations, masks and the number of registers of AVX-512.
struct Half {
  using Vector = __m256i;
  static constexpr std::size_t width = 8;

  static Vector all(std::uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
  static Vector load(const std::uint32_t* from) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(from));
  }
  static Vector sum(Vector a, Vector b) { return _mm256_add_epi32(a, b); }
  static Vector exor(Vector a, Vector b) { return _mm256_xor_si256(a, b); }
  static Vector either(Vector a, Vector b) { return _mm256_or_si256(a, b); }
  static __mmask8 equal(Vector a, Vector b) { return _mm256_cmpeq_epi32_mask(a, b); }
  static __mmask8 greater(Vector a, Vector b) { return _mm256_cmpgt_epi32_mask(a, b); }
  static Vector select(__mmask8 condition, Vector yes, Vector no) {
    return _mm256_mask_blend_epi32(condition, no, yes);
  }
  // Two quarter rounds. Written out because sixteen words of state and sixteen of the message are just the
  // registers that there are: the operations in place need no other, but the compilers' schedules do, and
  // spill.
  [[gnu::always_inline]] static void mix_two(Vector& a0, Vector& b0, Vector& c0, Vector& d0, const Vector& x0,
                                             const Vector& y0, Vector& a1, Vector& b1, Vector& c1, Vector& d1,
                                             const Vector& x1, const Vector& y1) {
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
        : [x0] "vm"(x0), [y0] "vm"(y0), [x1] "vm"(x1), [y1] "vm"(y1));
  }
  static void load_blocks(const std::byte* const* from, std::size_t offset, Vector* m) {
    load_blocks_of_eight(from, offset, m);
  }
  static void store_values(Vector* h, const Lane* lanes) { store_values_of_eight(h, lanes); }
};

// Half a group or less is faster in half the width: three ports take 256-bit operations, two take 512-bit
// ones.
void run(const LaneOptions& options, const Lane* lanes, std::size_t count) {
  const std::size_t rest = count % Avx512::width;
  const std::size_t wide = rest <= Avx512::width / 2 ? count - rest : count;
  run_lanes<Avx512>(options, lanes, wide);
  if (wide < count) run_lanes<Half>(options, lanes + wide, count - wide);
}

}  // namespace

const Kernel avx512_kernel{Avx512::width, run};

}  // namespace braid::hashing::blake3
