#include "server/announcement.h"

#include <fmt/format.h>

#include <iterator>

#include "rpc/socket_address.h"
#include "server/endpoint.h"

namespace braid::server {
namespace {

constexpr std::uint16_t nfs_port = 2049;

// The address that a client should use: the first that is not of this host only.
rpc::PeerAddress advertised(const std::vector<rpc::PeerAddress>& addresses,
                            const rpc::PeerAddress& reachable) {
  rpc::PeerAddress best = addresses.front();
  for (const rpc::PeerAddress& address : addresses)
    if (is_loopback(best) && !is_loopback(address)) best = address;
  if (!is_any(best)) return best;
  rpc::PeerAddress host = reachable;
  host.port = best.port;
  return host;
}

}  // namespace

std::string mount_command(const rpc::PeerAddress& host, bool found_by_rpcbind, const std::string& path) {
  const bool ipv6 = !rpc::is_ipv4(host);
  const std::string_view proto = ipv6 ? "tcp6" : "tcp";
  std::string options = fmt::format("vers=3,proto={}", proto);
  if (!found_by_rpcbind || host.port != nfs_port)
    options += fmt::format(",port={0},mountport={0},mountproto={1}", host.port, proto);
  const std::string name = ipv6 ? fmt::format("[{}]", host_text(host)) : host_text(host);
  return fmt::format("mount -t nfs -o {},nolock {}:{} /mnt", options, name, path);
}

std::string announcement_text(const Announcement& announcement, const rpc::PeerAddress& reachable) {
  const rpc::PeerAddress host = advertised(announcement.addresses, reachable);
  std::string out;
  for (const ExportConfig& config : announcement.exports)
    fmt::format_to(std::back_inserter(out), "Serving {} as {}{} on port {}\n", config.directory, config.path,
                   config.read_only ? ", read-only," : "", host.port);
  for (const std::string& restriction : announcement.restrictions)
    fmt::format_to(std::back_inserter(out), "Note: {}\n", restriction);
  out += "Mount it on a client, as root, with\n";
  for (const ExportConfig& config : announcement.exports)
    fmt::format_to(std::back_inserter(out), "  {}\n",
                   mount_command(host, announcement.found_by_rpcbind, config.path));
  return out;
}

}  // namespace braid::server
