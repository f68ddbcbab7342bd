// Addresses to listen on.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace braid::server {

// A numeric IPv4 or IPv6 address and a TCP port.
struct Endpoint {
  sockaddr_storage address{};
  socklen_t address_bytes = 0;

  // "192.0.2.1", "::1" or "fe80::1%eth0"; names are not looked up.
  static std::optional<Endpoint> of(std::string_view address, std::uint16_t port);
  // "127.0.0.1:9100" or "[::1]:9100".
  static std::optional<Endpoint> parse(std::string_view text);
  [[nodiscard]] std::string text() const;  // in the form that parse() takes
  [[nodiscard]] std::string address_text() const;
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] bool is_any() const;  // the address of all interfaces
  [[nodiscard]] bool is_loopback() const;
  [[nodiscard]] bool is_ipv4() const { return address.ss_family == AF_INET; }
};

// Whether an IPv6 socket on "::" takes IPv4 connections too.
enum class DualStack : bool { no, yes };
// A non-blocking listening socket.
base::Result<base::UniqueFd> listen_on(const Endpoint& endpoint, DualStack dual_stack);
// Where the socket is bound: tells the port that was chosen for port 0.
base::Result<Endpoint> local_endpoint(int socket);

}  // namespace braid::server
