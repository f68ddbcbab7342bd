// Numbers in the order of the network, at a place in a run of bytes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace braid::base {

// [at, at + sizeof(T)) must lie inside.
template <std::unsigned_integral T>
constexpr T load_be(BytesView from, std::size_t at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>((value << 8U) | std::to_integer<T>(from[at + i]));
  return value;
}

template <std::unsigned_integral T>
constexpr void store_be(MutableBytes to, std::size_t at, T value) {
  for (std::size_t i = sizeof(T); i-- > 0; value = static_cast<T>(value >> 8U))
    to[at + i] = static_cast<std::byte>(value & 0xffU);
}

}  // namespace braid::base
