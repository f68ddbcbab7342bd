#include "vfs/network.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace braid::vfs {
namespace {

constexpr std::uint8_t bits_max = 128;
constexpr std::uint8_t mapped_bits = 96;  // of ::ffff:0:0/96

struct Parsed {
  Address address;
  bool v4 = false;
};

std::optional<Parsed> parse_address(std::string_view text) {
  std::array<char, INET6_ADDRSTRLEN + 1> copy{};
  if (text.empty() || text.size() >= copy.size() || text.find('\0') != text.npos) return std::nullopt;
  std::ranges::copy(text, copy.begin());
  Parsed out;
  if (::inet_pton(AF_INET6, copy.data(), out.address.bytes.data()) == 1) return out;
  out.address.bytes[10] = out.address.bytes[11] = 0xff;
  if (::inet_pton(AF_INET, copy.data(), out.address.bytes.data() + 12) != 1) return std::nullopt;
  out.v4 = true;
  return out;
}

}  // namespace

std::optional<Address> Address::parse(std::string_view text) {
  const auto parsed = parse_address(text);
  if (!parsed) return std::nullopt;
  return parsed->address;
}

std::optional<Network> Network::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto parsed = parse_address(text.substr(0, slash));
  if (!parsed) return std::nullopt;
  Network network{parsed->address, bits_max};
  if (slash != text.npos) {
    const std::string_view digits = text.substr(slash + 1);
    unsigned bits = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    if (bits > (parsed->v4 ? 32U : 128U)) return std::nullopt;
    network.prefix_bits = static_cast<std::uint8_t>(parsed->v4 ? bits + mapped_bits : bits);
  }
  // Host bits mean nothing; without them two spellings of a network are equal.
  for (std::size_t i = 0; i < network.base.bytes.size(); ++i) {
    const int kept = std::clamp(static_cast<int>(network.prefix_bits) - static_cast<int>(8 * i), 0, 8);
    network.base.bytes[i] &= static_cast<std::uint8_t>(0xff00U >> kept);
  }
  return network;
}

bool Network::has_host_bits(std::string_view text) {
  const auto network = parse(text);
  const auto address = Address::parse(text.substr(0, text.find('/')));
  return network && address && network->base != *address;
}

std::string Network::text() const {
  constexpr Address mapped{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}};
  const bool v4 =
      prefix_bits >= mapped_bits &&
      std::equal(mapped.bytes.begin(), mapped.bytes.begin() + mapped_bits / 8, base.bytes.begin());
  std::array<char, INET6_ADDRSTRLEN> address{};
  ::inet_ntop(v4 ? AF_INET : AF_INET6, base.bytes.data() + (v4 ? mapped_bits / 8 : 0), address.data(),
              address.size());
  if (prefix_bits == bits_max) return address.data();
  return std::string(address.data()) + "/" + std::to_string(prefix_bits - (v4 ? mapped_bits : 0));
}

bool Network::contains(const Address& address) const {
  const std::size_t whole = prefix_bits / 8;
  if (std::memcmp(address.bytes.data(), base.bytes.data(), whole) != 0) return false;
  const unsigned rest = prefix_bits % 8U;
  if (rest == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xff00U >> rest);
  return (address.bytes[whole] & mask) == (base.bytes[whole] & mask);
}

bool Network::contains(const Network& other) const {
  return prefix_bits <= other.prefix_bits && contains(other.base);
}

}  // namespace braid::vfs
