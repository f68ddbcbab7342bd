#include "server/run/announcement.h"

#include <fmt/format.h>

#include <iterator>
#include <set>

#include "base/quoting.h"
#include "rpc/socket_address.h"
#include "server/config/endpoint.h"
#include "server/config/units.h"

namespace braid::server::run {
namespace {

constexpr std::uint16_t default_port = 2049;

// The address that a client should use: the first that is not of this host only.
rpc::PeerAddress advertised(const std::vector<rpc::PeerAddress>& addresses,
                            const rpc::PeerAddress& reachable) {
  rpc::PeerAddress best = addresses.front();
  for (const rpc::PeerAddress& address : addresses)
    if (config::is_loopback(best) && !config::is_loopback(address)) best = address;
  if (!config::is_any(best)) return best;
  rpc::PeerAddress host = reachable;
  host.port = best.port;
  return host;
}

std::string_view proto_of(const rpc::PeerAddress& host) { return rpc::is_ipv4(host) ? "tcp" : "tcp6"; }

// What mount(8) takes for `path` of this server, as a word of a shell.
std::string device_of(const rpc::PeerAddress& host, const std::string& path) {
  const std::string address = config::host_text(host);
  return base::shell_word(rpc::is_ipv4(host) ? fmt::format("{}:{}", address, path)
                                             : fmt::format("[{}]:{}", address, path));
}

// Not for data servers of other clusters.
std::string own_places_text(const std::vector<DataServerPlace>& places) {
  std::string out;
  std::set<std::uint64_t> file_systems;
  bool shared = false;
  for (const DataServerPlace& place : places) {
    if (!place.mds.empty()) continue;
    if (out.empty()) out = "The bytes of new files are spread over data servers of this process:\n";
    fmt::format_to(
        std::back_inserter(out), "  {} on port {}: {}, {}\n", place.name, place.port,
        base::printable(place.directory),
        place.bytes_available ? config::bytes_text(*place.bytes_available) + " free" : "room unknown");
    shared = !file_systems.insert(place.file_system).second || shared;
  }
  if (shared) out += "Note: some of them are on one file system; its room is counted for each of them.\n";
  return out;
}

}  // namespace

std::string data_servers_text(const std::vector<DataServerPlace>& places) {
  std::string out = own_places_text(places);
  for (const DataServerPlace& place : places)
    if (!place.mds.empty())
      fmt::format_to(std::back_inserter(out), "Data server of {}: objects in {}, on port {}\n", place.mds,
                     base::printable(place.directory), place.port);
  return out;
}

std::string mount_command_v4(const rpc::PeerAddress& host, const std::string& path) {
  std::string options = fmt::format("vers=4.2,proto={}", proto_of(host));
  if (host.port != default_port) options += fmt::format(",port={}", host.port);
  return fmt::format("mount -t nfs -o {} {} /mnt", options, device_of(host, path));
}

std::string mount_command_rdma(const rpc::PeerAddress& host, std::uint16_t port, const std::string& path) {
  return fmt::format("mount -t nfs -o vers=4.2,proto={},port={} {} /mnt",
                     rpc::is_ipv4(host) ? "rdma" : "rdma6", port, device_of(host, path));
}

std::string mount_command_v3(const rpc::PeerAddress& host, bool found_by_rpcbind, const std::string& path) {
  const std::string_view proto = proto_of(host);
  std::string options = fmt::format("vers=3,proto={}", proto);
  if (!found_by_rpcbind || host.port != default_port)
    options += fmt::format(",port={0},mountport={0},mountproto={1}", host.port, proto);
  return fmt::format("mount -t nfs -o {},nolock {} /mnt", options, device_of(host, path));
}

std::string announcement_text(const Announcement& announcement, const rpc::PeerAddress& reachable) {
  const rpc::PeerAddress host = advertised(announcement.addresses, reachable);
  std::string out;
  for (const config::ExportConfig& config : announcement.exports)
    fmt::format_to(std::back_inserter(out), "Serving {} as {}{} on port {}\n",
                   base::printable(config.directory), base::printable(config.path),
                   config.writable() ? "" : ", read-only,", host.port);
  for (const std::string& restriction : announcement.restrictions)
    fmt::format_to(std::back_inserter(out), "Note: {}\n", base::printable(restriction));
  out += "Mount it on a client, as root, with\n";
  for (const config::ExportConfig& config : announcement.exports)
    fmt::format_to(std::back_inserter(out), "  {}\n", mount_command_v4(host, config.path));
  out += "or, with NFSv3,\n";
  for (const config::ExportConfig& config : announcement.exports)
    fmt::format_to(std::back_inserter(out), "  {}\n",
                   mount_command_v3(host, announcement.found_by_rpcbind, config.path));
  if (!announcement.rdma_port) return out;
  out += "or, over RDMA,\n";
  for (const config::ExportConfig& config : announcement.exports)
    fmt::format_to(std::back_inserter(out), "  {}\n",
                   mount_command_rdma(host, *announcement.rdma_port, config.path));
  return out;
}

}  // namespace braid::server::run
