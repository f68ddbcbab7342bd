#include "server/config/endpoint.h"

#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>

#include "rpc/socket_address.h"

namespace braid::server::config {
namespace {

bool is_link_local(const rpc::PeerAddress& address) {
  if (rpc::is_ipv4(address)) return address.bytes[12] == 169 && address.bytes[13] == 254;
  return address.bytes[0] == 0xfe && (address.bytes[1] & 0xc0) == 0x80;
}

struct Split {
  std::string_view host;  // without brackets
  std::uint16_t port = 0;
};

std::optional<Split> split_at_port(std::string_view text) {
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
  return Split{host, port};
}

}  // namespace

std::optional<rpc::PeerAddress> parse_endpoint(std::string_view text) {
  const auto split = split_at_port(text);
  if (!split) return std::nullopt;
  return rpc::parse_address(split->host, split->port);
}

std::optional<HostPort> split_host_port(std::string_view text) {
  const auto split = split_at_port(text);
  if (!split || split->host.empty() || split->port == 0) return std::nullopt;
  return HostPort{std::string(split->host), split->port};
}

std::optional<rpc::PeerAddress> parse_advertised(std::string_view text, std::uint16_t port) {
  if (const auto alone = rpc::parse_address(text, port)) return alone;
  const auto whole = parse_endpoint(text);
  return whole && whole->port != 0 ? whole : std::nullopt;
}

std::string host_text(const rpc::PeerAddress& address) {
  std::string text = address.text();
  text.resize(text.rfind(':'));
  return text.front() == '[' ? text.substr(1, text.size() - 2) : text;
}

bool is_any(const rpc::PeerAddress& address) {
  const std::size_t begin = rpc::is_ipv4(address) ? 12 : 0;
  return std::all_of(address.bytes.begin() + begin, address.bytes.end(),
                     [](std::uint8_t byte) { return byte == 0; });
}

bool is_loopback(const rpc::PeerAddress& address) {
  if (rpc::is_ipv4(address)) return address.bytes[12] == 127;
  return std::all_of(address.bytes.begin(), address.bytes.end() - 1,
                     [](std::uint8_t byte) { return byte == 0; }) &&
         address.bytes.back() == 1;
}

rpc::PeerAddress reachable_address() {
  rpc::PeerAddress best = *rpc::parse_address("127.0.0.1", 0);
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return best;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    if (entry->ifa_addr->sa_family != AF_INET && entry->ifa_addr->sa_family != AF_INET6) continue;
    sockaddr_storage storage{};
    std::memcpy(&storage, entry->ifa_addr,
                entry->ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    const rpc::PeerAddress address = rpc::from_socket_address(storage);
    if (is_loopback(address) || is_link_local(address)) continue;
    // People recognise an IPv4 address more easily, and it needs no brackets.
    if (rpc::is_ipv4(address)) return address;
    if (is_loopback(best)) best = address;
  }
  return best;
}

}  // namespace braid::server::config
