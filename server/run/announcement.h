// What a server says on standard output when it is ready.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rpc/call.h"
#include "server/config/config.h"

namespace braid::server::run {

struct Announcement {
  std::vector<rpc::PeerAddress> addresses;  // that the server listens on
  bool found_by_rpcbind = false;            // clients need no port for the MOUNT protocol
  std::optional<std::uint16_t> rdma_port;   // where RDMA is served, if it is
  std::vector<config::ExportConfig> exports;
  std::vector<std::string> restrictions;  // what is limited, in sentences
};

// Where a data server of this process has its bytes.
struct DataServerPlace {
  std::string name;
  std::string mds;  // as the user wrote it; empty: this process
  std::string directory;
  std::uint16_t port = 0;
  std::uint64_t file_system = 0;                 // tells file systems apart
  std::optional<std::uint64_t> bytes_available;  // there
};
// Lines for people; none without data servers.
std::string data_servers_text(const std::vector<DataServerPlace>& places);

// The commands by which a Linux client mounts `path`. `host` is an address of this server and its port.
std::string mount_command_v4(const rpc::PeerAddress& host, const std::string& path);
std::string mount_command_rdma(const rpc::PeerAddress& host, std::uint16_t port, const std::string& path);
std::string mount_command_v3(const rpc::PeerAddress& host, bool found_by_rpcbind, const std::string& path);
// Lines for people, ending with the mount commands of each export. `reachable`: what to put for the address
// of all interfaces.
std::string announcement_text(const Announcement& announcement, const rpc::PeerAddress& reachable);

}  // namespace braid::server::run
