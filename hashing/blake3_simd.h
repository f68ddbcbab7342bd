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

// Four quarter rounds, of the columns (S = 0) or the diagonals (S = 1).
template <class V, unsigned S>
[[gnu::always_inline]] inline void mix_four(typename V::Vector* v, const typename V::Vector* m,
                                            const std::uint8_t* x) {
  constexpr auto b = [](unsigned i) { return 4 + (i + S) % 4; };
  constexpr auto c = [](unsigned i) { return 8 + (i + 2 * S) % 4; };
  constexpr auto d = [](unsigned i) { return 12 + (i + 3 * S) % 4; };
  V::mix_two(v[0], v[b(0)], v[c(0)], v[d(0)], m[x[0]], m[x[1]], v[1], v[b(1)], v[c(1)], v[d(1)], m[x[2]],
             m[x[3]]);
  V::mix_two(v[2], v[b(2)], v[c(2)], v[d(2)], m[x[4]], m[x[5]], v[3], v[b(3)], v[c(3)], v[d(3)], m[x[6]],
             m[x[7]]);
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

[[gnu::always_inline]] inline std::uint64_t word_of(const Shape& shape) {
  return __builtin_bit_cast(std::uint64_t, shape);
}

// True if the lanes have blocks, lengths and flags alike, and their counters are equal or count up: then
// nothing but the pointers and the first counter has to be taken from each.
template <class V>
[[gnu::always_inline]] inline bool are_uniform(const Lane* lanes, std::uint64_t& step) {
  const Lane& first = lanes[0];
  step = lanes[1].counter - first.counter;
  std::uint64_t differences = step & ~std::uint64_t{1};
  for (std::size_t i = 1; i < V::width; ++i)
    differences |=
        (word_of(lanes[i].shape) ^ word_of(first.shape)) | (lanes[i].counter ^ (first.counter + i * step));
  // The low words must not carry into the high ones.
  return differences == 0 && static_cast<std::uint32_t>(first.counter) <= 0xffffffffU - V::width;
}

template <class V>
void run_uniform(const LaneOptions& options, const Lane* lanes, std::uint64_t step) {
  using Vector = typename V::Vector;
  const std::byte *blocks[V::width], *last[V::width];
  for (std::size_t i = 0; i < V::width; ++i) {
    blocks[i] = lanes[i].blocks;
    last[i] = lanes[i].last;
  }
  alignas(64) static constexpr std::uint32_t up[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const std::uint64_t counter = lanes[0].counter;
  const Vector counter_low =
      V::sum(V::all(static_cast<std::uint32_t>(counter)), step == 0 ? V::all(0) : V::load(up));
  const Vector counter_high = V::all(static_cast<std::uint32_t>(counter >> 32));
  Vector h[8];
  for (unsigned i = 0; i < 8; ++i) h[i] = V::all(options.key.word[i]);
  const Shape shape = lanes[0].shape;
  for (std::uint32_t b = 0; b < shape.count; ++b) {
    const bool is_last = b + 1 == shape.count;
    Vector m[16];
    V::load_blocks(is_last ? last : blocks, is_last ? 0 : std::size_t{b} * block_bytes, m);
    const std::uint32_t bytes = is_last ? shape.last_bytes : block_bytes;
    const std::uint32_t flags =
        options.flags | (b == 0 ? options.first_flags : 0) | (is_last ? shape.last_flags : 0);
    compress_lanes<V>(h, m, counter_low, counter_high, V::all(bytes), V::all(flags));
  }
  V::store_values(h, lanes);
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

  explicit LaneNumbers(const Lane* lanes) {
    for (std::size_t i = 0; i < V::width; ++i) {
      counter_low[i] = static_cast<std::uint32_t>(lanes[i].counter);
      counter_high[i] = static_cast<std::uint32_t>(lanes[i].counter >> 32);
      last_bytes[i] = lanes[i].shape.last_bytes;
      last_flags[i] = lanes[i].shape.last_flags;
      count[i] = lanes[i].shape.count;
      if (count[i] > count_max) count_max = count[i];
    }
  }
};

// Lanes of different lengths: one that has ended keeps its value while the others go on.
template <class V>
void run_mixed(const LaneOptions& options, const Lane* lanes) {
  using Vector = typename V::Vector;
  const LaneNumbers<V> numbers(lanes);
  const Vector counter_low = V::load(numbers.counter_low);
  const Vector counter_high = V::load(numbers.counter_high);
  const Vector count = V::load(numbers.count);
  Vector h[8];
  for (unsigned i = 0; i < 8; ++i) h[i] = V::all(options.key.word[i]);
  for (std::uint32_t b = 0; b < numbers.count_max; ++b) {
    const std::byte* from[V::width];
    for (std::size_t i = 0; i < V::width; ++i)
      from[i] = b + 1 < lanes[i].shape.count ? lanes[i].blocks + std::size_t{b} * block_bytes : lanes[i].last;
    Vector m[16], next[8];
    V::load_blocks(from, 0, m);
    const Vector common = V::all(options.flags | (b == 0 ? options.first_flags : 0));
    const auto ends = V::equal(count, V::all(b + 1));
    const auto runs = V::greater(count, V::all(b));
    for (unsigned i = 0; i < 8; ++i) next[i] = h[i];
    compress_lanes<V>(next, m, counter_low, counter_high,
                      V::select(ends, V::load(numbers.last_bytes), V::all(block_bytes)),
                      V::select(ends, V::either(common, V::load(numbers.last_flags)), common));
    for (unsigned i = 0; i < 8; ++i) h[i] = V::select(runs, next[i], h[i]);
  }
  V::store_values(h, lanes);
}

// A full group of lanes.
template <class V>
void run_group(const LaneOptions& options, const Lane* lanes) {
  std::uint64_t step = 0;
  if (are_uniform<V>(lanes, step))
    run_uniform<V>(options, lanes, step);
  else
    run_mixed<V>(options, lanes);
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
    if (i < count) continue;
    // Counting on, so that the group is uniform if the lanes are.
    if (count > 1) padded[i].counter += (i - count + 1) * (lanes[1].counter - lanes[0].counter);
    padded[i].out = &unused;
  }
  run_group<V>(options, padded);
}

}  // namespace braid::hashing::blake3
