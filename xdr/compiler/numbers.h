// The integers that XDR text can hold.
#pragma once

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

#include "xdr/compiler/ast.h"

namespace braid::xdrc {

// Decimal, 0x hexadecimal or 0 octal (RFC 4506 section 6.2), perhaps negative; nothing if it is no number of
// 64 bits.
inline std::optional<Number> number_of(std::string_view text) {
  Number number;
  if (text.starts_with('-')) {
    number.negative = true;
    text.remove_prefix(1);
  }
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text.starts_with('0')) {
    base = 8;
    text.remove_prefix(1);
  }
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number.magnitude, base);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  constexpr std::uint64_t negative_max = std::uint64_t{1} << 63;
  if (number.negative && number.magnitude > negative_max) return std::nullopt;
  if (number.magnitude == 0) number.negative = false;
  return number;
}

inline bool fits_int32(Number number) {
  constexpr std::uint64_t max = std::numeric_limits<std::int32_t>::max();
  return number.magnitude <= (number.negative ? max + 1 : max);
}

inline bool fits_uint32(Number number) {
  return !number.negative && number.magnitude <= std::numeric_limits<std::uint32_t>::max();
}

}  // namespace braid::xdrc
