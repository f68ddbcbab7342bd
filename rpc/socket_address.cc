#include "rpc/socket_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/unique_fd.h"

namespace braid::rpc {
namespace {

// RFC 4291 section 2.5.5.2: ::ffff:a.b.c.d
constexpr std::array<std::uint8_t, 12> mapped_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

std::string PeerAddress::text() const {
  return is_ipv4(*this) ? fmt::format("{}:{}", host(), port) : fmt::format("[{}]:{}", host(), port);
}

std::string PeerAddress::host() const {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  if (is_ipv4(*this))
    ::inet_ntop(AF_INET, bytes.data() + mapped_prefix.size(), buffer.data(), buffer.size());
  else
    ::inet_ntop(AF_INET6, bytes.data(), buffer.data(), buffer.size());
  return buffer.data();
}

bool is_ipv4(const PeerAddress& address) {
  return std::equal(mapped_prefix.begin(), mapped_prefix.end(), address.bytes.begin());
}

std::optional<PeerAddress> parse_address(std::string_view text, std::uint16_t port) {
  const std::string terminated(text);
  PeerAddress address;
  address.port = port;
  if (::inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) == 1) return address;
  std::ranges::copy(mapped_prefix, address.bytes.begin());
  if (::inet_pton(AF_INET, terminated.c_str(), address.bytes.data() + mapped_prefix.size()) == 1)
    return address;
  return std::nullopt;
}

SocketAddress to_socket_address(const PeerAddress& address) {
  SocketAddress out;
  if (is_ipv4(address)) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(address.port);
    std::memcpy(&in.sin_addr, address.bytes.data() + mapped_prefix.size(), sizeof in.sin_addr);
    std::memcpy(&out.storage, &in, sizeof in);
    out.length = sizeof in;
  } else {
    sockaddr_in6 in6{};
    in6.sin6_family = AF_INET6;
    in6.sin6_port = htons(address.port);
    std::memcpy(&in6.sin6_addr, address.bytes.data(), sizeof in6.sin6_addr);
    std::memcpy(&out.storage, &in6, sizeof in6);
    out.length = sizeof in6;
  }
  return out;
}

PeerAddress from_socket_address(const sockaddr_storage& address) {
  PeerAddress out;
  if (address.ss_family == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, &address, sizeof in);
    std::ranges::copy(mapped_prefix, out.bytes.begin());
    std::memcpy(out.bytes.data() + mapped_prefix.size(), &in.sin_addr, sizeof in.sin_addr);
    out.port = ntohs(in.sin_port);
  } else if (address.ss_family == AF_INET6) {
    sockaddr_in6 in6;
    std::memcpy(&in6, &address, sizeof in6);
    std::memcpy(out.bytes.data(), &in6.sin6_addr, sizeof in6.sin6_addr);
    out.port = ntohs(in6.sin6_port);
  }
  return out;
}

base::Result<PeerAddress> peer_of(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    return base::fail(base::last_errno());
  return from_socket_address(address);
}

base::Result<PeerAddress> local_of(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    return base::fail(base::last_errno());
  return from_socket_address(address);
}

// bind(2) refuses an address of somebody else. Of a datagram socket nobody sees anything.
bool is_of_this_host(const PeerAddress& address) {
  PeerAddress any_port = address;
  any_port.port = 0;
  const SocketAddress at = to_socket_address(any_port);
  const base::UniqueFd socket(::socket(at.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return socket && ::bind(socket.get(), at.get(), at.length) == 0;
}

}  // namespace braid::rpc
