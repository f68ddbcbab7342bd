// Connecting to a server over TCP.
#pragma once

#include "base/unique_fd.h"
#include "io/op.h"
#include "io/reactor.h"
#include "rpc/call.h"

namespace braid::rpc {

struct TcpConnectOptions {
  // Bind to a port below 1024, which some servers ask for (RFC 5531 does not); needs CAP_NET_BIND_SERVICE.
  bool reserved_port = false;
  // How often a connection request is repeated, 1, 3, 7 ... seconds after the first; 0: the system's number.
  int syn_retries = 0;
};

// A connected non-blocking socket, to be given to TcpWorker::open(). On the reactor's thread. Fails with the
// errno of connect(2).
io::Op<base::UniqueFd> tcp_connect(io::Reactor& reactor, PeerAddress address, TcpConnectOptions options = {});

}  // namespace braid::rpc
