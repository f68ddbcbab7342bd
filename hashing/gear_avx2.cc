// 32 positions at a time. This file is compiled with -mavx2.
#include <immintrin.h>

#include "hashing/gear_simd.h"

namespace braid::hashing::detail {
namespace {

struct Avx2 {
  using Vector = __m256i;
  static constexpr std::size_t step_bytes = 32;

  static Vector zero() { return _mm256_setzero_si256(); }
  static Vector load(const std::byte* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  static Vector everywhere(const std::uint8_t* bytes) {
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes)));
  }
  static Vector all_bytes(char byte) { return _mm256_set1_epi8(byte); }
  static Vector all_values(std::uint16_t value) {
    return _mm256_set1_epi16(static_cast<std::int16_t>(value));
  }
  static Vector both(Vector a, Vector b) { return _mm256_and_si256(a, b); }
  static Vector exor(Vector a, Vector b) { return _mm256_xor_si256(a, b); }
  static Vector sum(Vector a, Vector b) { return _mm256_add_epi16(a, b); }
  static Vector least(Vector a, Vector b) { return _mm256_min_epu16(a, b); }
  static Vector looked_up(Vector plane, Vector nibbles) { return _mm256_shuffle_epi8(plane, nibbles); }
  static Vector low_bytes(Vector a, Vector b) { return _mm256_unpacklo_epi8(a, b); }
  static Vector high_bytes(Vector a, Vector b) { return _mm256_unpackhi_epi8(a, b); }
  template <int N>
  static Vector shifted_left(Vector v) {
    return _mm256_slli_epi16(v, N);
  }
  template <int N>
  static Vector shifted_right(Vector v) {
    return _mm256_srli_epi16(v, N);
  }
  template <int N>
  static Vector aligned(Vector high, Vector low) {
    return _mm256_alignr_epi8(high, low, N);
  }
  static Vector parts_before(Vector v, Vector before) { return _mm256_permute2x128_si256(before, v, 0x21); }
  static bool any_up_to(Vector v, Vector limit) {
    const Vector passes = _mm256_cmpeq_epi16(_mm256_min_epu16(v, limit), v);
    return _mm256_testz_si256(passes, passes) == 0;
  }
  // Bit i: position i passes.
  static std::uint32_t passing(const GearValues<Avx2>& v, Vector mask) {
    const Vector first = _mm256_cmpeq_epi16(_mm256_and_si256(v.first, mask), zero());
    const Vector second = _mm256_cmpeq_epi16(_mm256_and_si256(v.second, mask), zero());
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_packs_epi16(first, second)));
  }
};

}  // namespace

std::size_t scan_avx2(const GearTables& tables, const std::byte* data, std::size_t begin, std::size_t end,
                      GearMask mask) {
  return scan_with<Avx2>(tables, data, begin, end, mask);
}

}  // namespace braid::hashing::detail
