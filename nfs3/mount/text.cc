#include "nfs3/mount/text.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <span>

namespace braid::nfs3::mount {
namespace {

constexpr std::array<std::uint8_t, 12> ipv4_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr unsigned ipv4_prefix_bits = 96;

bool is_ipv4(const vfs::Address& address) {
  return std::ranges::equal(ipv4_prefix, std::span(address.bytes).first<12>());
}

}  // namespace

std::string text_of(const vfs::Address& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool ipv4 = is_ipv4(address);
  const std::uint8_t* bytes = address.bytes.data() + (ipv4 ? ipv4_prefix.size() : 0);
  ::inet_ntop(ipv4 ? AF_INET : AF_INET6, bytes, text.data(), text.size());
  return text.data();
}

std::string text_of(const vfs::Network& network) {
  const unsigned all_bits = 128;
  std::string text = text_of(network.base);
  if (network.prefix_bits == all_bits) return text;
  const bool ipv4 = is_ipv4(network.base) && network.prefix_bits >= ipv4_prefix_bits;
  return text + "/" + std::to_string(network.prefix_bits - (ipv4 ? ipv4_prefix_bits : 0));
}

std::optional<std::string> normal_path(std::string_view path) {
  if (path.find('\0') != path.npos) return std::nullopt;
  std::string normal;
  while (!path.empty()) {
    const std::string_view component = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), component.size() + 1));
    if (component == "..") return std::nullopt;
    if (component.empty() || component == ".") continue;
    normal += '/';
    normal += component;
  }
  return normal.empty() ? "/" : normal;
}

}  // namespace braid::nfs3::mount
