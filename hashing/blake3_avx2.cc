// Eight lanes in AVX2 registers. This file is compiled with -mavx2.
#include "hashing/blake3_simd.h"
#include "hashing/blake3_vector.h"

namespace braid::hashing::blake3 {
namespace {

struct Avx2 : Eight {
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

  // A quarter round in two halves, which differ in the words and the rotations.
  template <class First, class Second>
  [[gnu::always_inline]] static void mix_half(Vector& a, Vector& b, Vector& c, Vector& d, const Vector& x,
                                              First first, Second second) {
    a = sum(sum(a, x), b);
    d = first(exor(d, a));
    c = sum(c, d);
    b = second(exor(b, c));
  }
  [[gnu::always_inline]] static void mix_two(Vector& a0, Vector& b0, Vector& c0, Vector& d0, const Vector& x0,
                                             const Vector& y0, Vector& a1, Vector& b1, Vector& c1, Vector& d1,
                                             const Vector& x1, const Vector& y1) {
    mix_half(a0, b0, c0, d0, x0, rotate16, rotate12);
    mix_half(a1, b1, c1, d1, x1, rotate16, rotate12);
    mix_half(a0, b0, c0, d0, y0, rotate8, rotate7);
    mix_half(a1, b1, c1, d1, y1, rotate8, rotate7);
  }
  // They stay in memory: each word is added once per round, straight from there, and the registers, half as
  // many as words, are the state's.
  static void load_blocks(const std::byte* const* from, std::size_t offset, Vector* m) {
    Eight::load_blocks(from, offset, m);
    asm volatile("" : : "r"(m) : "memory");
  }
};

}  // namespace

const Kernel avx2_kernel{Avx2::width, run_lanes<Avx2>};

}  // namespace braid::hashing::blake3
