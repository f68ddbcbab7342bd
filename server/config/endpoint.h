// Addresses to listen on, as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rpc/call.h"

namespace braid::server::config {

// A numeric address with a port: "127.0.0.1:9100", "[::1]:9100". Names are not looked up.
std::optional<rpc::PeerAddress> parse_endpoint(std::string_view text);
// "HOST:PORT" with a name, or a numeric address, and a port other than 0.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};
std::optional<HostPort> split_host_port(std::string_view text);
// An address of a data server that clients are told: with a port, or the one that is given.
std::optional<rpc::PeerAddress> parse_advertised(std::string_view text, std::uint16_t port);
// "192.0.2.1", "2001:db8::1".
std::string host_text(const rpc::PeerAddress& address);
// The address of all interfaces.
bool is_any(const rpc::PeerAddress& address);
bool is_loopback(const rpc::PeerAddress& address);
// An address of this host that others are likely to reach it by; the loopback address if there is none.
rpc::PeerAddress reachable_address();

}  // namespace braid::server::config
