// RPC over RDMA on one reactor: its connections and their time limits.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "io/gate.h"
#include "io/op.h"
#include "io/reactor.h"
#include "io/slab.h"
#include "rdma/options.h"
#include "rdma/registration.h"
#include "rdma/verbs.h"
#include "rpc/address_turns.h"
#include "rpc/connection_limit.h"
#include "rpc/transport.h"

namespace braid::rdma {

class RdmaConnection;

// Belongs to one reactor's thread except where noted. Before destruction close() must have ended. Everything
// given to it outlives it.
class RdmaWorker {
 public:
  RdmaWorker(io::Reactor& reactor, io::SlabPool& pool, Verbs& verbs, MemoryMaps& maps,
             const RdmaOptions& options, RdmaMetrics& metrics, rpc::AddressTurns& turns);
  ~RdmaWorker();
  RdmaWorker(const RdmaWorker&) = delete;
  RdmaWorker& operator=(const RdmaWorker&) = delete;

  // Any thread: takes over a client that wants to connect. `acceptor` lives as long as the worker.
  void adopt(std::unique_ptr<ConnectRequest> request, rpc::Acceptor& acceptor,
             rpc::ConnectionLimit::Place place);
  // Any thread: connections taken over and not yet ended.
  [[nodiscard]] std::size_t connections() const { return count_.load(std::memory_order_relaxed); }
  // Any thread: further ones that there is memory for.
  [[nodiscard]] std::size_t room() const;

  // Takes no more calls, waits until the running ones are answered and the peers have the answers, and hangs
  // up; at most until `limit` from now. True if all ended in time.
  io::Op<bool> drain(base::Duration limit);
  // Ends every connection and waits for that; for one that the device does not flush until a sweep behind
  // flush_limit has taken it back.
  io::Op<> close();

  // Looks at the limits of every connection; happens by itself every sweep_interval.
  void check_limits();

 private:
  friend class RdmaConnection;

  void take(std::unique_ptr<ConnectRequest> request, rpc::Acceptor& acceptor,
            rpc::ConnectionLimit::Place place);
  // The connection has ended, and is destroyed.
  void forget(RdmaConnection& connection);
  // A connection waits for memory.
  void retry_later();
  io::Op<> retry();
  void start_sweeping();
  io::Op<> sweep();
  [[nodiscard]] bool all_quiet() const;

  io::Reactor& reactor_;
  io::SlabPool& pool_;
  Verbs& verbs_;
  MemoryMaps& maps_;
  const RdmaOptions options_;
  RdmaMetrics& metrics_;
  rpc::AddressTurns& turns_;
  io::SlabCursor cursor_;  // for headers
  std::vector<std::unique_ptr<RdmaConnection>> open_;
  std::atomic<std::size_t> count_{0};
  bool draining_ = false;
  bool sweeping_ = false;
  bool retrying_ = false;
  io::Timer sweep_timer_;
  io::Gate gate_;
  std::vector<io::Gate::Hold> holds_;  // one per connection
};

}  // namespace braid::rdma
