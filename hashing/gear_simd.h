// The scan for any vector type. Included by one source file per instruction set, which is compiled for it; V
// is a type without linkage there, so that no other file gets the instructions.
#pragma once

#include <cstring>

#include "hashing/gear_verify.h"

namespace braid::hashing::detail {

// 16-bit values of as many positions as a vector has bytes. 128-bit part k of `first` has positions 16 k ..
// 16 k
// + 7, of `second` those after them.
template <class V>
struct GearValues {
  typename V::Vector first, second;
};

// The nibble tables as planes of bytes, in every 128-bit part.
template <class V>
class GearPlanes {
 public:
  using Vector = typename V::Vector;
  [[gnu::always_inline]] explicit GearPlanes(const GearTables& tables)
      : low_even_(plane(tables.low16, 0)),
        low_odd_(plane(tables.low16, 8)),
        high_even_(plane(tables.high16, 0)),
        high_odd_(plane(tables.high16, 8)) {}

  [[gnu::always_inline]] GearValues<V> look_up(Vector bytes) const {
    const Vector low = V::both(bytes, V::all_bytes(15));
    const Vector high = V::both(V::template shifted_right<4>(bytes), V::all_bytes(15));
    const Vector even = V::exor(V::looked_up(low_even_, low), V::looked_up(high_even_, high));
    const Vector odd = V::exor(V::looked_up(low_odd_, low), V::looked_up(high_odd_, high));
    return {V::low_bytes(even, odd), V::high_bytes(even, odd)};
  }

 private:
  static Vector plane(const std::uint16_t* table, unsigned shift) {
    alignas(16) std::uint8_t bytes[16];
    for (unsigned i = 0; i < 16; ++i) bytes[i] = static_cast<std::uint8_t>(table[i] >> shift);
    return V::everywhere(bytes);
  }
  Vector low_even_, low_odd_, high_even_, high_odd_;
};

// Doubles the window of v from N to 2 N bytes: value(p) += value(p - N) << N. `before` is `second` of the
// positions before, with windows of N bytes.
template <class V, int N>
[[gnu::always_inline]] inline GearValues<V> doubled(const GearValues<V>& v, typename V::Vector& before) {
  const auto carried = V::parts_before(v.second, before);  // part k: `second` of the part before
  before = v.second;
  GearValues<V> shifted{carried, v.first};
  if constexpr (N < 8) {
    shifted.first = V::template aligned<16 - 2 * N>(v.first, carried);
    shifted.second = V::template aligned<16 - 2 * N>(v.second, v.first);
  }
  return {V::sum(v.first, V::template shifted_left<N>(shifted.first)),
          V::sum(v.second, V::template shifted_left<N>(shifted.second))};
}

template <class V>
class GearWindow {
 public:
  [[gnu::always_inline]] explicit GearWindow(const GearTables& tables) : planes_(tables) {
    for (auto& b : before_) b = V::zero();
  }
  // H16 of the next positions.
  [[gnu::always_inline]] GearValues<V> next(typename V::Vector bytes) {
    const auto two = doubled<V, 1>(planes_.look_up(bytes), before_[0]);
    const auto four = doubled<V, 2>(two, before_[1]);
    const auto eight = doubled<V, 4>(four, before_[2]);
    return doubled<V, 8>(eight, before_[3]);
  }

 private:
  GearPlanes<V> planes_;
  typename V::Vector before_[4];
};

template <class V>
std::size_t scan_with(const GearTables& tables, const std::byte* data, std::size_t begin, std::size_t end,
                      GearMask mask) {
  GearWindow<V> window(tables);
  GearVerifier verifier(tables.g32, data, mask.verify);
  const auto mask16 = V::all_values(mask.prefilter);
  // The masks are the top bits, so the smaller of two values passes if either does.
  const auto limit = V::all_values(static_cast<std::uint16_t>(~mask.prefilter));

  // The bytes before the first position, at the end of a step.
  alignas(64) std::byte edge[V::step_bytes] = {};
  constexpr std::size_t before = verify_window - 1;
  std::memcpy(edge + V::step_bytes - before, data + begin - before, before);
  (void)window.next(V::load(edge));
  std::size_t p = begin;
  for (; end - p >= V::step_bytes; p += V::step_bytes) {
    const auto v = window.next(V::load(data + p));
    if (!V::any_up_to(V::least(v.first, v.second), limit)) continue;
    for (auto hits = V::passing(v, mask16); hits != 0; hits &= hits - 1) {
      const std::size_t at = p + static_cast<std::size_t>(__builtin_ctzll(hits));
      if (verifier.accepts(at)) return at;
    }
  }
  if (p == end) return end;
  std::memset(edge, 0, sizeof edge);
  std::memcpy(edge, data + p, end - p);
  const std::uint64_t rest = (std::uint64_t{1} << (end - p)) - 1;
  for (std::uint64_t hits = V::passing(window.next(V::load(edge)), mask16) & rest; hits != 0;
       hits &= hits - 1) {
    const std::size_t at = p + static_cast<std::size_t>(__builtin_ctzll(hits));
    if (verifier.accepts(at)) return at;
  }
  return end;
}

}  // namespace braid::hashing::detail
