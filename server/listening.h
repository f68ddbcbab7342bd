// The sockets that a role is reached by.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "rpc/call.h"

namespace braid::server {

// Where a role wants to be reached.
struct Listen {
  std::vector<std::string> addresses;   // numeric; empty: all of this host
  std::uint16_t port = 0;               // TCP; 0: the system chooses one, the same for all addresses
  std::string port_option;              // by which a user gives another port: "--port"
  std::optional<std::uint16_t> rdma{};  // RPC over RDMA too, at this port
  bool rpcbind = false;                 // its programs are announced to the rpcbind of this host
};

// Listening sockets that nobody accepts on yet, and their addresses in the same order; at least one.
struct ListeningSockets {
  std::vector<base::UniqueFd> sockets;
  std::vector<rpc::PeerAddress> addresses;
};
// The error is a sentence for the user. Waits for up to two seconds while the address is in use.
std::expected<ListeningSockets, std::string> open_sockets(const Listen& listen);

}  // namespace braid::server
