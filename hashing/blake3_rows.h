// Up to four lanes at once with AVX-512, each in a 128-bit part of the registers: the four rows of its state
// are parts of four vectors, and a vector operation is a step of four quarter rounds of each lane. It has
// half the operations of the form that takes a vector for each word, which fills vectors from eight lanes on
// only. Included by the file that is compiled for AVX-512.
#pragma once

#include <immintrin.h>

#include <array>

#include "hashing/blake3_simd.h"
#include "hashing/blake3_vector.h"

namespace braid::hashing::blake3 {
namespace {

constexpr std::size_t rows_width = 4;

// Which words of a block a round adds where: x to columns, y to columns, x to diagonals, y to diagonals. Word
// w of a lane is word w % 4 of its part of block vector w / 4: two vectors at a time are looked up in.
struct Pick {
  alignas(64) std::uint32_t index[16];
  __mmask16 is_high;  // from vectors 2 and 3
};
constexpr std::array<std::array<Pick, 4>, 7> make_picks() {
  std::array<std::array<Pick, 4>, 7> out{};
  for (unsigned round = 0; round < 7; ++round)
    for (unsigned v = 0; v < 4; ++v)
      for (unsigned i = 0; i < 16; ++i) {
        // Diagonal q stands where its word of the second row is, at q + 1.
        const unsigned q = v < 2 ? i % 4 : (i + 3) % 4;
        const unsigned word = schedule.of[round][v / 2 * 8 + q * 2 + v % 2];
        Pick& pick = out[round][v];
        pick.index[i] = (word % 8 < 4 ? 0U : 16U) + i / 4 * 4 + word % 4;
        if (word >= 8) pick.is_high = static_cast<__mmask16>(pick.is_high | 1U << i);
      }
  return out;
}
inline constexpr auto picks = make_picks();

[[gnu::always_inline]] inline __m512i picked(const __m512i* m, const Pick& pick) {
  const __m512i index = _mm512_load_si512(pick.index);
  return _mm512_mask_blend_epi32(pick.is_high, _mm512_permutex2var_epi32(m[0], index, m[1]),
                                 _mm512_permutex2var_epi32(m[2], index, m[3]));
}

struct RowState {
  __m512i a, b, c, d;

  [[gnu::always_inline]] void mix(__m512i x, __m512i y) {
    a = _mm512_add_epi32(_mm512_add_epi32(a, x), b);
    d = _mm512_ror_epi32(_mm512_xor_si512(d, a), 16);
    c = _mm512_add_epi32(c, d);
    b = _mm512_ror_epi32(_mm512_xor_si512(b, c), 12);
    a = _mm512_add_epi32(_mm512_add_epi32(a, y), b);
    d = _mm512_ror_epi32(_mm512_xor_si512(d, a), 8);
    c = _mm512_add_epi32(c, d);
    b = _mm512_ror_epi32(_mm512_xor_si512(b, c), 7);
  }
  // Diagonals become columns, and back. The row of b, which is ready last, stays where it is.
  [[gnu::always_inline]] void turn() {
    a = _mm512_shuffle_epi32(a, _MM_PERM_CBAD);
    d = _mm512_shuffle_epi32(d, _MM_PERM_BADC);
    c = _mm512_shuffle_epi32(c, _MM_PERM_ADCB);
  }
  [[gnu::always_inline]] void turn_back() {
    a = _mm512_shuffle_epi32(a, _MM_PERM_ADCB);
    d = _mm512_shuffle_epi32(d, _MM_PERM_BADC);
    c = _mm512_shuffle_epi32(c, _MM_PERM_CBAD);
  }
};

[[gnu::always_inline]] inline __m512i four_parts(const std::byte* const* from, std::size_t offset) {
  const auto part = [&](std::size_t lane) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from[lane] + offset));
  };
  __m512i out = _mm512_castsi128_si512(part(0));
  out = _mm512_inserti32x4(out, part(1), 1);
  out = _mm512_inserti32x4(out, part(2), 2);
  return _mm512_inserti32x4(out, part(3), 3);
}

inline __m512i everywhere(std::uint32_t w0, std::uint32_t w1, std::uint32_t w2, std::uint32_t w3) {
  return _mm512_set4_epi32(static_cast<int>(w3), static_cast<int>(w2), static_cast<int>(w1),
                           static_cast<int>(w0));
}

// Bits for the words of each lane for which `holds`.
template <class Holds>
[[gnu::always_inline]] inline __mmask16 lanes_where(Holds holds) {
  unsigned out = 0;
  for (unsigned k = 0; k < rows_width; ++k) out |= holds(k) ? 0xfU << 4 * k : 0U;
  return static_cast<__mmask16>(out);
}

// 1 to rows_width lanes, of any shapes.
inline void run_rows(const LaneOptions& options, const Lane* lanes, std::size_t count) {
  const auto lane = [&](std::size_t k) -> const Lane& { return lanes[k < count ? k : count - 1]; };
  // The fourth row: counter, bytes and flags.
  alignas(64) std::uint32_t last_row[16];
  std::uint32_t blocks = 0;
  for (std::size_t k = 0; k < rows_width; ++k) {
    const Lane& from = lane(k);
    last_row[4 * k] = static_cast<std::uint32_t>(from.counter);
    last_row[4 * k + 1] = static_cast<std::uint32_t>(from.counter >> 32);
    last_row[4 * k + 2] = from.shape.last_bytes;
    last_row[4 * k + 3] = options.flags | from.shape.last_flags;
    if (from.shape.count > blocks) blocks = from.shape.count;
  }
  const __m512i last = _mm512_load_si512(last_row);
  const __m512i full = _mm512_mask_blend_epi32(0x3333, everywhere(0, 0, block_bytes, options.flags), last);
  const std::uint32_t* key = options.key.word;
  __m512i low = everywhere(key[0], key[1], key[2], key[3]);
  __m512i high = everywhere(key[4], key[5], key[6], key[7]);
  __m512i first_flags = everywhere(0, 0, 0, options.first_flags);
  for (std::uint32_t block = 0; block < blocks; ++block) {
    const std::byte* from[rows_width];
    for (std::size_t k = 0; k < rows_width; ++k)
      from[k] =
          block + 1 < lane(k).shape.count ? lane(k).blocks + std::size_t{block} * block_bytes : lane(k).last;
    const __m512i m[4] = {four_parts(from, 0), four_parts(from, 16), four_parts(from, 32),
                          four_parts(from, 48)};
    const __mmask16 ends = lanes_where([&](unsigned k) { return lane(k).shape.count == block + 1; });
    const __mmask16 runs = lanes_where([&](unsigned k) { return lane(k).shape.count > block; });
    RowState v{low, high, everywhere(initial_value(0), initial_value(1), initial_value(2), initial_value(3)),
               _mm512_or_si512(_mm512_mask_blend_epi32(ends, full, last), first_flags)};
    first_flags = _mm512_setzero_si512();
#pragma GCC unroll 7
    for (const auto& pick : picks) {
      v.mix(picked(m, pick[0]), picked(m, pick[1]));
      v.turn();
      v.mix(picked(m, pick[2]), picked(m, pick[3]));
      v.turn_back();
    }
    low = _mm512_mask_xor_epi32(low, runs, v.a, v.c);
    high = _mm512_mask_xor_epi32(high, runs, v.b, v.d);
  }
  alignas(64) std::uint32_t values[2][16];
  _mm512_store_si512(values[0], low);
  _mm512_store_si512(values[1], high);
  for (std::size_t k = 0; k < count; ++k) {
    const auto half = [&](std::size_t i) {
      return _mm_load_si128(reinterpret_cast<const __m128i*>(values[i] + 4 * k));
    };
    store_row(lanes[k].out, _mm256_set_m128i(half(1), half(0)));
  }
}

}  // namespace
}  // namespace braid::hashing::blake3
