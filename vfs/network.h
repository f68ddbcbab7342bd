// Addresses of clients and the networks that exports name.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace braid::vfs {

// An IPv4 address is kept in its IPv4-mapped IPv6 form (RFC 4291 2.5.5.2).
struct Address {
  std::array<std::uint8_t, 16> bytes{};
  static std::optional<Address> parse(std::string_view text);
  friend bool operator==(const Address&, const Address&) = default;
};

// "10.1.0.0/16", "fd00::/8", or one address.
struct Network {
  Address base;
  std::uint8_t prefix_bits = 128;  // of the 128; an IPv4 /16 is 112
  // Bits of the address behind the prefix are dropped.
  static std::optional<Network> parse(std::string_view text);
  // Whether the text has such bits: "10.0.0.5/8".
  static bool has_host_bits(std::string_view text);
  // "10.0.0.0/8"; one address without a prefix.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool contains(const Address& address) const;
  [[nodiscard]] bool contains(const Network& other) const;
};

}  // namespace braid::vfs
