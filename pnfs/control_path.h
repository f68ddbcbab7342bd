// By what one server of a cluster reaches another one.
#pragma once

#include <functional>

#include "io/op.h"
#include "io/reactor.h"
#include "rpc/client.h"
#include "rpc/tcp_worker.h"

namespace braid::pnfs {

// Belongs to the reactor's thread. What it refers to outlives whoever has it.
struct ControlPath {
  io::Reactor& reactor;
  // Attaches the client, which has no connection, to an established one. May take about 3 seconds to fail.
  std::function<io::Op<>(rpc::PeerAddress to, rpc::Client& client)> connect;
};

ControlPath over_tcp(rpc::TcpWorker& tcp);

}  // namespace braid::pnfs
