#include "nfs4/callback/callback_target.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "nfs4/callback/universal_address.h"
#include "rpc/socket_address.h"

namespace braid::nfs4::callback {
namespace {

using Bytes16 = std::array<std::uint8_t, 16>;

constexpr std::uint16_t reserved_ports = 1024;
constexpr std::size_t ipv4_begin = 12;  // in an IPv4-mapped address

// 0/8, 224/4 and above, ff00::/8, "::" (RFC 6890).
bool of_one_host(const rpc::PeerAddress& address) {
  constexpr std::uint8_t multicast_4 = 224, multicast_6 = 0xff;
  if (rpc::is_ipv4(address)) return address.bytes[ipv4_begin] != 0 && address.bytes[ipv4_begin] < multicast_4;
  return address.bytes.front() != multicast_6 && address.bytes != Bytes16{};
}

}  // namespace

std::optional<CallbackTarget> callback_target(const state::CallbackAddress& to,
                                              bool (*of_this_host)(const rpc::PeerAddress&)) {
  const auto address = parse_universal_address(to.netid, to.address);
  if (!address || !of_one_host(*address)) return std::nullopt;
  const bool own = address->bytes == to.from;
  if (!own && of_this_host(*address) && !of_this_host({.bytes = to.from})) return std::nullopt;
  if (!own && address->port < reserved_ports) return std::nullopt;
  return CallbackTarget{*address, own};
}

}  // namespace braid::nfs4::callback
