#include "server/listening.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "rpc/socket_address.h"
#include "rpc/tcp_listener.h"
#include "server/config/endpoint.h"

namespace braid::server {
namespace {

std::string listen_error(const rpc::PeerAddress& address, std::string_view port_option, base::Errno error) {
  switch (base::number_of(error)) {
    case EADDRINUSE:
      return fmt::format("port {} is in use already, perhaps by another NFS server; give another one with {}",
                         address.port, port_option);
    case EADDRNOTAVAIL:
      return fmt::format("{} is not an address of this host", config::host_text(address));
    case EACCES:
      return fmt::format("port {} is reserved to root; give one above 1023 with {}", address.port,
                         port_option);
    default:
      return fmt::format("cannot listen on {}: {}", address.text(), base::message_of(error));
  }
}

// One socket on "::" takes IPv4 too; a system without IPv6 has only the other.
base::Result<base::UniqueFd> listen_on_all(std::uint16_t port) {
  auto socket = rpc::listen_on(*rpc::parse_address("::", port));
  if (!socket && socket.error() == base::errno_of(EAFNOSUPPORT))
    return rpc::listen_on(*rpc::parse_address("0.0.0.0", port));
  return socket;
}

}  // namespace

std::expected<ListeningSockets, std::string> open_sockets(const Listen& listen) {
  std::vector<rpc::PeerAddress> wanted;
  wanted.reserve(listen.addresses.size());
  for (const std::string& text : listen.addresses) wanted.push_back(*rpc::parse_address(text, listen.port));
  // "::" includes every IPv4 address.
  const bool all = wanted.empty() || std::ranges::any_of(wanted, [](const auto& a) {
                     return config::is_any(a) && !rpc::is_ipv4(a);
                   });
  if (all) wanted = {*rpc::parse_address("::", listen.port)};
  ListeningSockets out;
  for (rpc::PeerAddress address : wanted) {
    // With port 0 the system chooses once, for all addresses.
    if (!out.addresses.empty()) address.port = out.addresses.front().port;
    auto socket = all ? listen_on_all(address.port) : rpc::listen_on(address);
    if (!socket) return std::unexpected(listen_error(address, listen.port_option, socket.error()));
    out.addresses.push_back(rpc::local_of(socket->get()).value_or(address));
    out.sockets.push_back(std::move(*socket));
  }
  return out;
}

}  // namespace braid::server
