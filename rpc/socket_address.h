// PeerAddress to and from the system's socket addresses.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string_view>

#include "base/result.h"
#include "rpc/call.h"

namespace braid::rpc {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] int family() const { return storage.ss_family; }
};

// "192.0.2.1", "2001:db8::1", "fe80::1%eth0" is not supported. Nothing if it is not a numeric address.
std::optional<PeerAddress> parse_address(std::string_view text, std::uint16_t port);
[[nodiscard]] bool is_ipv4(const PeerAddress& address);
// AF_INET for IPv4-mapped addresses, otherwise AF_INET6.
SocketAddress to_socket_address(const PeerAddress& address);
// All zeros for other families.
PeerAddress from_socket_address(const sockaddr_storage& address);
// Of the other and of this end of a connected or bound socket.
base::Result<PeerAddress> peer_of(int fd);
base::Result<PeerAddress> local_of(int fd);
// Whether this host has it, as far as the system tells.
bool is_of_this_host(const PeerAddress& address);

}  // namespace braid::rpc
