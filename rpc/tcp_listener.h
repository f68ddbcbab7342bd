// Accepts TCP connections on one reactor and hands them out to the workers of all.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "io/gate.h"
#include "io/op.h"
#include "io/reactor.h"
#include "rpc/call.h"
#include "rpc/connection_limit.h"
#include "rpc/tcp_worker.h"

namespace braid::rpc {

// A listening socket; any thread. Port 0 lets the system choose (see local_of()). The unspecified IPv6
// address takes IPv4 connections too. EAFNOSUPPORT where the system has no such addresses; EADDRINUSE after
// waiting two seconds for the address. Blocks.
base::Result<base::UniqueFd> listen_on(const PeerAddress& address);

struct TcpListenerOptions {
  // Accepting pauses so long when descriptors or memory are short.
  base::Duration pause = std::chrono::milliseconds(100);
};

// Belongs to one reactor's thread. stop() must have ended before it is destroyed.
class TcpListener {
 public:
  // Where connections go: the one with the fewest gets the next.
  struct Target {
    TcpWorker* worker;
    Acceptor* acceptor;
  };
  // `limit` is one of all listeners of the same workers.
  TcpListener(io::Reactor& reactor, std::vector<Target> targets, ConnectionLimit& limit,
              const TcpListenerOptions& options, TcpMetrics& metrics);
  TcpListener(const TcpListener&) = delete;
  TcpListener& operator=(const TcpListener&) = delete;

  // Accepts on `socket` from now on; several may be given.
  void accept_on(base::UniqueFd socket);
  // Accepts no more and closes the sockets.
  io::Op<> stop();

 private:
  io::Op<> accept_loop(base::UniqueFd socket);
  // Who has connected is taken, or takes another one's place, or has to go.
  io::Op<> admit(base::UniqueFd socket);
  void hand_out(base::UniqueFd socket, const PeerAddress& peer, bool known);
  void hand_out_instead(base::UniqueFd socket, const PeerAddress& peer, bool known,
                        const ConnectionLimit::Victim& victim);
  // Waits until somebody wants to connect, and has an idle connection closed.
  io::Op<> make_room(int socket);

  io::Reactor& reactor_;
  const std::vector<Target> targets_;
  ConnectionLimit& limit_;
  const TcpListenerOptions options_;
  TcpMetrics& metrics_;
  std::vector<int> sockets_;  // owned by the loops
  std::size_t turn_ = 0;      // among equally busy workers
  io::Gate gate_;
};

}  // namespace braid::rpc
