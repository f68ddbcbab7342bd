#include "server/endpoint.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>

#include <array>
#include <charconv>
#include <cstring>

namespace braid::server {
namespace {

const sockaddr_in& ipv4(const sockaddr_storage& address) {
  return reinterpret_cast<const sockaddr_in&>(address);
}
const sockaddr_in6& ipv6(const sockaddr_storage& address) {
  return reinterpret_cast<const sockaddr_in6&>(address);
}

}  // namespace

std::optional<Endpoint> Endpoint::of(std::string_view address, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string host(address);
  // inet_aton's short forms ("10", "0x7f.1") are more often a slip than meant.
  in_addr strict;
  if (host.find(':') == std::string::npos && ::inet_pton(AF_INET, host.c_str(), &strict) != 1)
    return std::nullopt;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return std::nullopt;
  Endpoint endpoint;
  endpoint.address_bytes = found->ai_addrlen;
  std::memcpy(&endpoint.address, found->ai_addr, found->ai_addrlen);
  ::freeaddrinfo(found);
  return endpoint;
}

std::optional<Endpoint> Endpoint::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (bracketed != (host.find(':') != std::string_view::npos)) return std::nullopt;
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return of(host, port);
}

std::string Endpoint::address_text() const {
  std::array<char, NI_MAXHOST> host{};
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&address), address_bytes, host.data(), host.size(),
                    nullptr, 0, NI_NUMERICHOST) != 0)
    return "?";
  return host.data();
}

std::string Endpoint::text() const {
  if (is_ipv4()) return fmt::format("{}:{}", address_text(), port());
  return fmt::format("[{}]:{}", address_text(), port());
}

std::uint16_t Endpoint::port() const {
  return ntohs(address.ss_family == AF_INET6 ? ipv6(address).sin6_port : ipv4(address).sin_port);
}

bool Endpoint::is_any() const {
  if (address.ss_family == AF_INET6) return IN6_IS_ADDR_UNSPECIFIED(&ipv6(address).sin6_addr);
  return ipv4(address).sin_addr.s_addr == htonl(INADDR_ANY);
}

bool Endpoint::is_loopback() const {
  if (address.ss_family == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&ipv6(address).sin6_addr);
  return ntohl(ipv4(address).sin_addr.s_addr) >> 24 == 127;
}

base::Result<base::UniqueFd> listen_on(const Endpoint& endpoint, DualStack dual_stack) {
  constexpr int backlog = 1024;
  base::UniqueFd fd(::socket(endpoint.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return base::Failure<base::Errno>{base::last_errno()};
  const int on = 1;
  const int ipv6_only = dual_stack == DualStack::yes && endpoint.is_any() ? 0 : 1;
  // A restart must not wait for the old connections' TIME_WAIT.
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0)
    return base::Failure<base::Errno>{base::last_errno()};
  if (!endpoint.is_ipv4() &&
      ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &ipv6_only, sizeof ipv6_only) != 0)
    return base::Failure<base::Errno>{base::last_errno()};
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&endpoint.address), endpoint.address_bytes) != 0 ||
      ::listen(fd.get(), backlog) != 0)
    return base::Failure<base::Errno>{base::last_errno()};
  return fd;
}

base::Result<Endpoint> local_endpoint(int socket) {
  Endpoint endpoint;
  endpoint.address_bytes = sizeof endpoint.address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&endpoint.address), &endpoint.address_bytes) != 0)
    return base::Failure<base::Errno>{base::last_errno()};
  return endpoint;
}

}  // namespace braid::server
