// What generated code needs for arrays, lists, optional data and floating-point numbers.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "base/bytes.h"
#include "io/payload.h"
#include "xdr/decoder.h"
#include "xdr/encoder.h"
#include "xdr/padding.h"

namespace braid::xdr {

// Bytes on the wire of variable-length opaque data: length, bytes, padding.
constexpr std::size_t opaque_size(std::size_t bytes) { return 4 + padded(bytes); }

// `decode_one(T&)` reads one element and returns false on errors.
template <class T, std::size_t N, class F>
bool decode_each(std::array<T, N>& out, F decode_one) {
  for (T& item : out) {
    if (!decode_one(item)) return false;
  }
  return true;
}

// A counted array of at most `limit` elements of at least `element_bytes_min` bytes each; lies in the call's
// arena.
template <class T, class F>
bool decode_array(Decoder& in, std::span<const T>& out, std::uint32_t limit, std::size_t element_bytes_min,
                  F decode_one) {
  std::uint32_t count;
  if (!in.count(count, limit, element_bytes_min)) return false;
  bool fits;
  auto items = in.arena().make<T>(count, fits);
  if (!fits) return in.fail(Error::memory);
  out = items;
  for (T& item : items) {
    if (!decode_one(item)) return false;
  }
  return true;
}

template <class T, class F>
bool decode_optional(Decoder& in, std::optional<T>& out, F decode_one) {
  bool present;
  if (!in.boolean(present)) return false;
  if (present) return decode_one(out.emplace());
  out.reset();
  return true;
}

// A linked list (each element is announced by TRUE, the end by FALSE) as an array. Its length is known only
// at its end: the arena space doubles as it grows, so at most as much again is left behind.
template <class T, class F>
bool decode_list(Decoder& in, std::span<const T>& out, std::uint32_t limit, std::size_t element_bytes_min,
                 F decode_one) {
  static_assert(std::is_trivially_copyable_v<T>);
  constexpr std::size_t capacity_min = 4;
  std::span<T> items;
  std::size_t used = 0;
  bool more;
  while (true) {
    if (!in.boolean(more)) return false;
    if (!more) break;
    if (used == limit) return in.fail(Error::limit);
    if (used == items.size()) {
      // No more than the message can still hold.
      const std::size_t most = used + in.remaining() / (element_bytes_min + 4) + 1;
      std::size_t capacity = used < capacity_min ? capacity_min : 2 * used;
      if (capacity > most) capacity = most;
      if (capacity > limit) capacity = limit;
      bool fits;
      auto larger = in.arena().make<T>(capacity, fits);
      if (!fits) return in.fail(Error::memory);
      for (std::size_t i = 0; i < used; ++i) larger[i] = items[i];
      items = larger;
    }
    if (!decode_one(items[used])) return false;
    ++used;
  }
  out = items.first(used);
  return true;
}

// IEEE 754 numbers by their bits (RFC 4506 sections 4.6 and 4.7).
inline bool decode_floating(Decoder& in, float& out) {
  std::uint32_t bits;
  if (!in.u32(bits)) return false;
  out = std::bit_cast<float>(bits);
  return true;
}
inline bool decode_floating(Decoder& in, double& out) {
  std::uint64_t bits;
  if (!in.u64(bits)) return false;
  out = std::bit_cast<double>(bits);
  return true;
}
inline void encode_floating(Encoder& out, float value) { out.u32(std::bit_cast<std::uint32_t>(value)); }
inline void encode_floating(Encoder& out, double value) { out.u64(std::bit_cast<std::uint64_t>(value)); }

template <class Range, class F>
std::size_t size_of_each(const Range& range, F size_of_one) {
  std::size_t bytes = 0;
  for (const auto& item : range) bytes += size_of_one(item);
  return bytes;
}

template <class Range, class F>
bool equal_each(const Range& left, const Range& right, F equal_one) {
  if (left.size() != right.size()) return false;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!equal_one(left[i], right[i])) return false;
  }
  return true;
}

template <class T, class F>
bool equal_optional(const std::optional<T>& left, const std::optional<T>& right, F equal_one) {
  if (left.has_value() != right.has_value()) return false;
  return !left || equal_one(*left, *right);
}

// True if two payloads hold the same bytes, however they are cut.
bool same_bytes(const io::Payload& left, const io::Payload& right);

}  // namespace braid::xdr
