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
#include "rpc/tcp_worker.h"

namespace braid::rpc {

// A listening socket; any thread. Port 0 lets the system choose (see local_of()). The unspecified IPv6
// address takes IPv4 connections too. EAFNOSUPPORT where the system has no such addresses; EADDRINUSE after
// waiting two seconds for the address. Blocks.
base::Result<base::UniqueFd> listen_on(const PeerAddress& address);

struct TcpListenerOptions {
  std::size_t connections_max = 16384;  // of all workers; for one more the longest idle one is closed
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
  TcpListener(io::Reactor& reactor, std::vector<Target> targets, const TcpListenerOptions& options,
              TcpMetrics& metrics);
  TcpListener(const TcpListener&) = delete;
  TcpListener& operator=(const TcpListener&) = delete;

  // Accepts on `socket` from now on; several may be given.
  void accept_on(base::UniqueFd socket);
  // Accepts no more and closes the sockets.
  io::Op<> stop();

 private:
  io::Op<> accept_loop(base::UniqueFd socket);
  void hand_out(base::UniqueFd socket);
  [[nodiscard]] std::size_t connections() const;
  // Waits until somebody wants to connect, and asks the worker with the most connections to close an idle
  // one.
  io::Op<> make_room(int socket);

  io::Reactor& reactor_;
  const std::vector<Target> targets_;
  const TcpListenerOptions options_;
  TcpMetrics& metrics_;
  std::vector<int> sockets_;  // owned by the loops
  std::size_t turn_ = 0;      // among equally busy workers
  io::Gate gate_;
};

}  // namespace braid::rpc
