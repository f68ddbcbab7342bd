// The lanes kernel for any vector type. Included by one source file per instruction set, which is compiled
// for it; V is a type without linkage there, so that no other file gets the instructions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hashing/blake3_core.h"
#include "hashing/blake3_lanes.h"

namespace braid::hashing::blake3 {

// Message words of each round: the permutation applied again and again (table 2).
struct Schedule {
  std::uint8_t of[7][16];
};
constexpr Schedule make_schedule() {
  constexpr std::uint8_t permutation[16] = {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8};
  Schedule out{};
  for (unsigned i = 0; i < 16; ++i) out.of[0][i] = static_cast<std::uint8_t>(i);
  for (unsigned round = 1; round < 7; ++round)
    for (unsigned i = 0; i < 16; ++i) out.of[round][i] = out.of[round - 1][permutation[i]];
  return out;
}
inline constexpr Schedule schedule = make_schedule();

// Four quarter rounds side by side. b, c and d are rotated by S for the diagonals, instead of moving words.
template <class V, int S>
[[gnu::always_inline]] inline void mix_four(typename V::Vector* v, const typename V::Vector* m,
                                            const std::uint8_t* x) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) v[i] = V::add(V::add(v[i], m[x[2 * i]]), v[4 + (i + S) % 4]);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) v[12 + (i + 3 * S) % 4] = V::rotate16(V::exor(v[12 + (i + 3 * S) % 4], v[i]));
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
    v[8 + (i + 2 * S) % 4] = V::add(v[8 + (i + 2 * S) % 4], v[12 + (i + 3 * S) % 4]);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
    v[4 + (i + S) % 4] = V::rotate12(V::exor(v[4 + (i + S) % 4], v[8 + (i + 2 * S) % 4]));
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) v[i] = V::add(V::add(v[i], m[x[2 * i + 1]]), v[4 + (i + S) % 4]);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) v[12 + (i + 3 * S) % 4] = V::rotate8(V::exor(v[12 + (i + 3 * S) % 4], v[i]));
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
    v[8 + (i + 2 * S) % 4] = V::add(v[8 + (i + 2 * S) % 4], v[12 + (i + 3 * S) % 4]);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
    v[4 + (i + S) % 4] = V::rotate7(V::exor(v[4 + (i + S) % 4], v[8 + (i + 2 * S) % 4]));
}

// One block of every lane: h becomes the new chaining values.
template <class V>
[[gnu::always_inline]] inline void compress_lanes(typename V::Vector* h, const typename V::Vector* m,
                                                  typename V::Vector counter_low,
                                                  typename V::Vector counter_high, typename V::Vector bytes,
                                                  typename V::Vector flags) {
  typename V::Vector v[16];
#pragma GCC unroll 8
  for (unsigned i = 0; i < 8; ++i) v[i] = h[i];
#pragma GCC unroll 4
  for (unsigned i = 0; i < 4; ++i) v[8 + i] = V::all(initial_value(i));
  v[12] = counter_low;
  v[13] = counter_high;
  v[14] = bytes;
  v[15] = flags;
#pragma GCC unroll 7
  for (int round = 0; round < 7; ++round) {
    mix_four<V, 0>(v, m, schedule.of[round]);
    mix_four<V, 1>(v, m, schedule.of[round] + 8);
  }
#pragma GCC unroll 8
  for (unsigned i = 0; i < 8; ++i) h[i] = V::exor(v[i], v[i + 8]);
}

// What differs from lane to lane, as arrays to load vectors from.
template <class V>
struct LaneNumbers {
  alignas(64) std::uint32_t counter_low[V::width];
  alignas(64) std::uint32_t counter_high[V::width];
  alignas(64) std::uint32_t last_bytes[V::width];
  alignas(64) std::uint32_t last_flags[V::width];
  alignas(64) std::uint32_t count[V::width];
  std::uint32_t count_max = 0;
  bool alike = true;  // all lanes have count_max blocks

  explicit LaneNumbers(const Lane* lanes) {
    for (std::size_t i = 0; i < V::width; ++i) {
      counter_low[i] = static_cast<std::uint32_t>(lanes[i].counter);
      counter_high[i] = static_cast<std::uint32_t>(lanes[i].counter >> 32);
      last_bytes[i] = lanes[i].last_bytes;
      last_flags[i] = lanes[i].last_flags;
      count[i] = lanes[i].count;
      if (i > 0 && count[i] != count[0]) alike = false;
      if (count[i] > count_max) count_max = count[i];
    }
  }
};

// A full group of lanes.
template <class V>
void run_group(const LaneOptions& options, const Lane* lanes) {
  using Vector = typename V::Vector;
  const LaneNumbers<V> numbers(lanes);
  const Vector counter_low = V::load(numbers.counter_low);
  const Vector counter_high = V::load(numbers.counter_high);
  Vector h[8];
  for (unsigned i = 0; i < 8; ++i) h[i] = V::all(options.key.word[i]);
  for (std::uint32_t b = 0; b < numbers.count_max; ++b) {
    const std::byte* from[V::width];
    for (std::size_t i = 0; i < V::width; ++i)
      from[i] = b + 1 < lanes[i].count ? lanes[i].blocks + std::size_t{b} * block_bytes : lanes[i].last;
    const Vector common = V::all(options.flags | (b == 0 ? options.first_flags : 0));
    Vector m[16];
    V::load_blocks(from, m);
    if (numbers.alike) {
      const bool last = b + 1 == numbers.count_max;
      compress_lanes<V>(h, m, counter_low, counter_high,
                        last ? V::load(numbers.last_bytes) : V::all(block_bytes),
                        last ? V::either(common, V::load(numbers.last_flags)) : common);
      continue;
    }
    const Vector count = V::load(numbers.count);
    const auto ends = V::equal(count, V::all(b + 1));
    const auto runs = V::greater(count, V::all(b));
    Vector next[8];
    for (unsigned i = 0; i < 8; ++i) next[i] = h[i];
    compress_lanes<V>(next, m, counter_low, counter_high,
                      V::select(ends, V::load(numbers.last_bytes), V::all(block_bytes)),
                      V::select(ends, V::either(common, V::load(numbers.last_flags)), common));
    for (unsigned i = 0; i < 8; ++i) h[i] = V::select(runs, next[i], h[i]);
  }
  V::store_values(h, lanes);
}

// Any number of lanes; the last group is filled up with copies of one of its lanes, whose values go nowhere.
template <class V>
void run_lanes(const LaneOptions& options, const Lane* lanes, std::size_t count) {
  while (count >= V::width) {
    run_group<V>(options, lanes);
    lanes += V::width;
    count -= V::width;
  }
  if (count == 0) return;
  Words unused;
  Lane padded[V::width];
  for (std::size_t i = 0; i < V::width; ++i) {
    padded[i] = lanes[i < count ? i : count - 1];
    if (i >= count) padded[i].out = &unused;
  }
  run_group<V>(options, padded);
}

}  // namespace braid::hashing::blake3
