// 64 positions at a time. This file is compiled with -mavx512f -mavx512bw -mavx512dq -mavx512vl.
#include <immintrin.h>

#include "hashing/gear_simd.h"

namespace braid::hashing::detail {
namespace {

struct Avx512 {
  using Vector = __m512i;
  static constexpr std::size_t step_bytes = 64;

  static Vector zero() { return _mm512_setzero_si512(); }
  static Vector load(const std::byte* from) { return _mm512_loadu_si512(from); }
  static Vector everywhere(const std::uint8_t* bytes) {
    return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes)));
  }
  static Vector all_bytes(char byte) { return _mm512_set1_epi8(byte); }
  static Vector all_values(std::uint16_t value) {
    return _mm512_set1_epi16(static_cast<std::int16_t>(value));
  }
  static Vector both(Vector a, Vector b) { return _mm512_and_si512(a, b); }
  static Vector exor(Vector a, Vector b) { return _mm512_xor_si512(a, b); }
  static Vector sum(Vector a, Vector b) { return _mm512_add_epi16(a, b); }
  static Vector least(Vector a, Vector b) { return _mm512_min_epu16(a, b); }
  static Vector looked_up(Vector plane, Vector nibbles) { return _mm512_shuffle_epi8(plane, nibbles); }
  static Vector low_bytes(Vector a, Vector b) { return _mm512_unpacklo_epi8(a, b); }
  static Vector high_bytes(Vector a, Vector b) { return _mm512_unpackhi_epi8(a, b); }
  template <int N>
  static Vector shifted_left(Vector v) {
    return _mm512_slli_epi16(v, N);
  }
  template <int N>
  static Vector shifted_right(Vector v) {
    return _mm512_srli_epi16(v, N);
  }
  template <int N>
  static Vector aligned(Vector high, Vector low) {
    return _mm512_alignr_epi8(high, low, N);
  }
  static Vector parts_before(Vector v, Vector before) { return _mm512_alignr_epi64(v, before, 6); }
  static bool any_up_to(Vector v, Vector limit) { return _mm512_cmple_epu16_mask(v, limit) != 0; }
  // Bit i: position i passes.
  static std::uint64_t passing(const GearValues<Avx512>& v, Vector mask) {
    const Vector first = _mm512_movm_epi16(_mm512_testn_epi16_mask(v.first, mask));
    const Vector second = _mm512_movm_epi16(_mm512_testn_epi16_mask(v.second, mask));
    return _mm512_movepi8_mask(_mm512_packs_epi16(first, second));
  }
};

}  // namespace

std::size_t scan_avx512(const GearTables& tables, const std::byte* data, std::size_t begin, std::size_t end,
                        GearMask mask) {
  return scan_with<Avx512>(tables, data, begin, end, mask);
}

}  // namespace braid::hashing::detail
