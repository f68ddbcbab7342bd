// Announces programs to the rpcbind (RFC 1833) of this host, so that clients find them without being told a
// port.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rpc/program.h"

namespace braid::rpc {

// What came of it, for a line in the log.
struct RpcbindOutcome {
  bool present = false;      // an rpcbind is running here
  std::size_t accepted = 0;  // announcements for a program, version and transport
  std::size_t refused = 0;
};

// Announces every version of every program on `port` over tcp and tcp6, and on `rdma_port`, if there is one,
// over rdma and rdma6 (RFC 8166 section 5), replacing what was announced for them before. Without an rpcbind
// nothing happens. Blocks for up to seconds: not for a reactor's thread.
RpcbindOutcome register_with_rpcbind(std::span<const Program> programs, std::uint16_t port,
                                     std::optional<std::uint16_t> rdma_port = std::nullopt);
// Takes the announcements back. Blocks likewise.
RpcbindOutcome unregister_with_rpcbind(std::span<const Program> programs);

}  // namespace braid::rpc
