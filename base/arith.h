// Arithmetic on numbers that came from a peer: every step that could overflow says so.
#pragma once

#include <concepts>
#include <limits>
#include <optional>
#include <utility>

namespace braid::base {

template <std::unsigned_integral T>
constexpr std::optional<T> add(T a, T b) {
  T sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

template <std::unsigned_integral T>
constexpr std::optional<T> multiply(T a, T b) {
  T product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// First byte after [offset, offset + count); nothing if that does not fit `limit` (by default the type).
template <std::unsigned_integral T>
constexpr std::optional<T> end_of(T offset, T count, T limit = std::numeric_limits<T>::max()) {
  auto end = add(offset, count);
  if (!end || *end > limit) return std::nullopt;
  return end;
}

// Rounds up to a multiple of `unit`, a power of two.
template <std::unsigned_integral T>
constexpr std::optional<T> round_up(T value, T unit) {
  auto sum = add(value, static_cast<T>(unit - 1));
  if (!sum) return std::nullopt;
  return static_cast<T>(*sum & ~(unit - 1));
}

// A narrowing conversion that keeps the value, or nothing.
template <std::integral To, std::integral From>
constexpr std::optional<To> narrow(From value) {
  if (!std::in_range<To>(value)) return std::nullopt;
  return static_cast<To>(value);
}

}  // namespace braid::base
