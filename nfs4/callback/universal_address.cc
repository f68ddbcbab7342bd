#include "nfs4/callback/universal_address.h"

#include <charconv>

#include "rpc/socket_address.h"

namespace braid::nfs4::callback {
namespace {

// Takes ".N" with N below 256 off the end.
std::optional<unsigned> take_octet(std::string_view& text) {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(dot + 1);
  unsigned value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value > 255) return std::nullopt;
  text = text.substr(0, dot);
  return value;
}

}  // namespace

std::optional<rpc::PeerAddress> parse_universal_address(std::string_view netid, std::string_view address) {
  const auto low = take_octet(address);
  const auto high = low ? take_octet(address) : std::nullopt;
  if (!high) return std::nullopt;
  const auto port = static_cast<std::uint16_t>(*high * 256 + *low);
  auto parsed = rpc::parse_address(address, port);
  if (!parsed || port == 0) return std::nullopt;
  if (netid != (rpc::is_ipv4(*parsed) ? "tcp" : "tcp6")) return std::nullopt;
  return parsed;
}

}  // namespace braid::nfs4::callback
