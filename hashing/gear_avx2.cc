// 32 positions at a time. This file is compiled with -mavx2.
#include <immintrin.h>

#include <cstring>

#include "hashing/gear_verify.h"

namespace braid::hashing::detail {
namespace {

constexpr std::size_t step_bytes = 32;

// 16-bit values of 32 positions. Lane k of `first` has positions 16 k .. 16 k + 7, of `second` those after
// them.
struct Values {
  __m256i first, second;
};

// The nibble tables as planes of bytes, in both 128-bit lanes.
struct Planes {
  __m256i low_even, low_odd, high_even, high_odd;

  explicit Planes(const GearTables& tables) {
    alignas(16) std::uint8_t plane[4][16];
    for (std::size_t i = 0; i < 16; ++i) {
      plane[0][i] = static_cast<std::uint8_t>(tables.low16[i]);
      plane[1][i] = static_cast<std::uint8_t>(tables.low16[i] >> 8);
      plane[2][i] = static_cast<std::uint8_t>(tables.high16[i]);
      plane[3][i] = static_cast<std::uint8_t>(tables.high16[i] >> 8);
    }
    const auto everywhere = [](const std::uint8_t* from) {
      return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(from)));
    };
    low_even = everywhere(plane[0]);
    low_odd = everywhere(plane[1]);
    high_even = everywhere(plane[2]);
    high_odd = everywhere(plane[3]);
  }

  [[nodiscard]] Values look_up(__m256i bytes) const {
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i low = _mm256_and_si256(bytes, nibble);
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), nibble);
    const __m256i even =
        _mm256_xor_si256(_mm256_shuffle_epi8(low_even, low), _mm256_shuffle_epi8(high_even, high));
    const __m256i odd =
        _mm256_xor_si256(_mm256_shuffle_epi8(low_odd, low), _mm256_shuffle_epi8(high_odd, high));
    return {_mm256_unpacklo_epi8(even, odd), _mm256_unpackhi_epi8(even, odd)};
  }
};

// Doubles the window of v from N to 2 N bytes: value(p) += value(p - N) << N. `before` is `second` of the 32
// positions before, with windows of N bytes.
template <int N>
[[gnu::always_inline]] inline Values doubled(const Values& v, __m256i& before) {
  const __m256i carried =
      _mm256_permute2x128_si256(before, v.second, 0x21);  // lane k: `second` of the lane before
  before = v.second;
  Values shifted{carried, v.first};
  if constexpr (N < 8) {
    shifted.first = _mm256_alignr_epi8(v.first, carried, 16 - 2 * N);
    shifted.second = _mm256_alignr_epi8(v.second, v.first, 16 - 2 * N);
  }
  return {_mm256_add_epi16(v.first, _mm256_slli_epi16(shifted.first, N)),
          _mm256_add_epi16(v.second, _mm256_slli_epi16(shifted.second, N))};
}

class Window {
 public:
  explicit Window(const GearTables& tables) : planes_(tables) {
    for (__m256i& b : before_) b = _mm256_setzero_si256();
  }
  // H16 of the next 32 positions.
  [[gnu::always_inline]] Values next(__m256i bytes) {
    return doubled<8>(
        doubled<4>(doubled<2>(doubled<1>(planes_.look_up(bytes), before_[0]), before_[1]), before_[2]),
        before_[3]);
  }

 private:
  Planes planes_;
  __m256i before_[4];
};

// Bit i: position i passes.
std::uint32_t passing(const Values& v, __m256i mask) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i first = _mm256_cmpeq_epi16(_mm256_and_si256(v.first, mask), zero);
  const __m256i second = _mm256_cmpeq_epi16(_mm256_and_si256(v.second, mask), zero);
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_packs_epi16(first, second)));
}

}  // namespace

std::size_t scan_avx2(const GearTables& tables, const std::byte* data, std::size_t begin, std::size_t end,
                      GearMask mask) {
  Window window(tables);
  GearVerifier verifier(tables.g32, data, mask.verify);
  const __m256i mask16 = _mm256_set1_epi16(static_cast<std::int16_t>(mask.prefilter));
  // The masks are the top bits, so the smaller of two values passes if either does.
  const __m256i limit = _mm256_set1_epi16(static_cast<std::int16_t>(~mask.prefilter & 0xffff));

  alignas(32) std::byte edge[step_bytes] = {};
  std::memcpy(edge + 1, data + begin - (verify_window - 1), verify_window - 1);
  (void)window.next(_mm256_load_si256(reinterpret_cast<const __m256i*>(edge)));
  std::size_t p = begin;
  for (; end - p >= step_bytes; p += step_bytes) {
    const Values v = window.next(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(data + p)));
    const __m256i least = _mm256_min_epu16(v.first, v.second);
    const __m256i passes = _mm256_cmpeq_epi16(_mm256_min_epu16(least, limit), least);
    if (_mm256_testz_si256(passes, passes) != 0) continue;
    for (std::uint32_t hits = passing(v, mask16); hits != 0; hits &= hits - 1) {
      const std::size_t at = p + static_cast<std::size_t>(__builtin_ctz(hits));
      if (verifier.accepts(at)) return at;
    }
  }
  if (p == end) return end;
  std::memset(edge, 0, sizeof edge);
  std::memcpy(edge, data + p, end - p);
  const Values v = window.next(_mm256_load_si256(reinterpret_cast<const __m256i*>(edge)));
  const std::uint32_t rest = (std::uint32_t{1} << (end - p)) - 1;
  for (std::uint32_t hits = passing(v, mask16) & rest; hits != 0; hits &= hits - 1) {
    const std::size_t at = p + static_cast<std::size_t>(__builtin_ctz(hits));
    if (verifier.accepts(at)) return at;
  }
  return end;
}

}  // namespace braid::hashing::detail
