// 64 positions at a time. This file is compiled with -mavx512f -mavx512bw -mavx512dq -mavx512vl.
#include <immintrin.h>

#include <cstring>

#include "hashing/gear_verify.h"

namespace braid::hashing::detail {
namespace {

constexpr std::size_t step_bytes = 64;

// 16-bit values of 64 positions. Lane k of `first` has positions 16 k .. 16 k + 7, of `second` those after
// them.
struct Values {
  __m512i first, second;
};

// The nibble tables as planes of bytes, in every 128-bit lane.
struct Planes {
  __m512i low_even, low_odd, high_even, high_odd;

  explicit Planes(const GearTables& tables) {
    alignas(16) std::uint8_t plane[4][16];
    for (std::size_t i = 0; i < 16; ++i) {
      plane[0][i] = static_cast<std::uint8_t>(tables.low16[i]);
      plane[1][i] = static_cast<std::uint8_t>(tables.low16[i] >> 8);
      plane[2][i] = static_cast<std::uint8_t>(tables.high16[i]);
      plane[3][i] = static_cast<std::uint8_t>(tables.high16[i] >> 8);
    }
    const auto everywhere = [](const std::uint8_t* from) {
      return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(from)));
    };
    low_even = everywhere(plane[0]);
    low_odd = everywhere(plane[1]);
    high_even = everywhere(plane[2]);
    high_odd = everywhere(plane[3]);
  }

  [[nodiscard]] Values look_up(__m512i bytes) const {
    const __m512i nibble = _mm512_set1_epi8(15);
    const __m512i low = _mm512_and_si512(bytes, nibble);
    const __m512i high = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), nibble);
    const __m512i even =
        _mm512_xor_si512(_mm512_shuffle_epi8(low_even, low), _mm512_shuffle_epi8(high_even, high));
    const __m512i odd =
        _mm512_xor_si512(_mm512_shuffle_epi8(low_odd, low), _mm512_shuffle_epi8(high_odd, high));
    return {_mm512_unpacklo_epi8(even, odd), _mm512_unpackhi_epi8(even, odd)};
  }
};

// Doubles the window of v from N to 2 N bytes: value(p) += value(p - N) << N. `before` is `second` of the 64
// positions before, with windows of N bytes.
template <int N>
[[gnu::always_inline]] inline Values doubled(const Values& v, __m512i& before) {
  const __m512i carried = _mm512_alignr_epi64(v.second, before, 6);  // lane k: `second` of the lane before
  before = v.second;
  Values shifted{carried, v.first};
  if constexpr (N < 8) {
    shifted.first = _mm512_alignr_epi8(v.first, carried, 16 - 2 * N);
    shifted.second = _mm512_alignr_epi8(v.second, v.first, 16 - 2 * N);
  }
  return {_mm512_add_epi16(v.first, _mm512_slli_epi16(shifted.first, N)),
          _mm512_add_epi16(v.second, _mm512_slli_epi16(shifted.second, N))};
}

class Window {
 public:
  explicit Window(const GearTables& tables) : planes_(tables) {
    for (__m512i& b : before_) b = _mm512_setzero_si512();
  }
  // H16 of the next 64 positions.
  [[gnu::always_inline]] Values next(__m512i bytes) {
    return doubled<8>(
        doubled<4>(doubled<2>(doubled<1>(planes_.look_up(bytes), before_[0]), before_[1]), before_[2]),
        before_[3]);
  }

 private:
  Planes planes_;
  __m512i before_[4];
};

// Bit i: position i passes.
std::uint64_t passing(const Values& v, __m512i mask) {
  const __m512i first = _mm512_movm_epi16(_mm512_testn_epi16_mask(v.first, mask));
  const __m512i second = _mm512_movm_epi16(_mm512_testn_epi16_mask(v.second, mask));
  return _mm512_movepi8_mask(_mm512_packs_epi16(first, second));
}

}  // namespace

std::size_t scan_avx512(const GearTables& tables, const std::byte* data, std::size_t begin, std::size_t end,
                        GearMask mask) {
  Window window(tables);
  GearVerifier verifier(tables.g32, data, mask.verify);
  const __m512i mask16 = _mm512_set1_epi16(static_cast<std::int16_t>(mask.prefilter));
  // The masks are the top bits, so the smaller of two values passes if either does.
  const __m512i limit = _mm512_set1_epi16(static_cast<std::int16_t>(~mask.prefilter & 0xffff));

  alignas(64) std::byte edge[step_bytes] = {};
  std::memcpy(edge + step_bytes - (verify_window - 1), data + begin - (verify_window - 1), verify_window - 1);
  (void)window.next(_mm512_load_si512(edge));
  std::size_t p = begin;
  for (; end - p >= step_bytes; p += step_bytes) {
    const Values v = window.next(_mm512_loadu_si512(data + p));
    if (_mm512_cmple_epu16_mask(_mm512_min_epu16(v.first, v.second), limit) == 0) continue;
    for (std::uint64_t hits = passing(v, mask16); hits != 0; hits &= hits - 1) {
      const std::size_t at = p + static_cast<std::size_t>(__builtin_ctzll(hits));
      if (verifier.accepts(at)) return at;
    }
  }
  if (p == end) return end;
  const __mmask64 rest = (std::uint64_t{1} << (end - p)) - 1;
  const Values v = window.next(_mm512_maskz_loadu_epi8(rest, data + p));
  for (std::uint64_t hits = passing(v, mask16) & rest; hits != 0; hits &= hits - 1) {
    const std::size_t at = p + static_cast<std::size_t>(__builtin_ctzll(hits));
    if (verifier.accepts(at)) return at;
  }
  return end;
}

}  // namespace braid::hashing::detail
