// What the owner and owner_group attributes and the "who" of an ACE look like on the wire: "1000" or
// "user@domain" (RFC 8881 section 5.9).
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace braid::nfs4 {

// A short text kept in place, so that an owner costs no allocation.
class OwnerText {
 public:
  static constexpr std::size_t bytes_max = 127;

  OwnerText() = default;
  static OwnerText of_number(std::uint32_t id) {
    OwnerText text;
    const auto end = std::to_chars(text.bytes_.begin(), text.bytes_.end(), id);
    text.size_ = static_cast<std::uint8_t>(end.ptr - text.bytes_.begin());
    return text;
  }
  // Nothing when it is too long.
  static std::optional<OwnerText> of(std::string_view text) {
    if (text.size() > bytes_max) return std::nullopt;
    OwnerText out;
    std::ranges::copy(text, out.bytes_.begin());
    out.size_ = static_cast<std::uint8_t>(text.size());
    return out;
  }
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, bytes_max> bytes_{};
  std::uint8_t size_ = 0;
};

// RFC 8881 section 5.9: decimal digits without leading zeros are an id. 2^32-1 is none: to the system calls
// it means "leave as it is".
inline std::optional<std::uint32_t> number_of_owner(std::string_view text) {
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (id == std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return id;
}

}  // namespace braid::nfs4
