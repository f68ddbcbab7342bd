// The calling side of RPC over RDMA on one reactor: makes connections to servers and looks after them.
//
//   RdmaConnector connector(reactor, pool, verbs, maps, options);
//   co_await connector.connect(address, client);     // rpc::Client, as over TCP
//   Results r = co_await client.call(id, {.auth = ..., .room = ...}, encode);
#pragma once

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "io/gate.h"
#include "io/op.h"
#include "io/reactor.h"
#include "io/slab.h"
#include "rdma/registration.h"
#include "rdma/verbs.h"
#include "rpc/client.h"

namespace braid::rdma {

class ClientConnection;

struct RdmaClientOptions {
  std::uint32_t credits = 128;        // calls of a connection at once, if the server grants as many
  std::uint32_t inline_bytes = 4096;  // of messages without chunks, both ways; whole KiB, at most 64 KiB
  std::uint32_t reads_max = 16;       // RDMA Reads of the server that are answered at once
  std::uint32_t segment_bytes_max = base::MiB;  // of memory that is offered; multiples of 4
  // What was sent must be acknowledged, and a connection established, within this time.
  base::Duration stall_limit = std::chrono::seconds(60);
  // A device that has not flushed a connection within this time after its end loses the queue pair.
  base::Duration flush_limit = std::chrono::seconds(5);
  base::Duration sweep_interval = std::chrono::seconds(5);
};

// Belongs to one reactor's thread. Before destruction close() must have ended. Everything given to it
// outlives it.
class RdmaConnector {
 public:
  RdmaConnector(io::Reactor& reactor, io::SlabPool& pool, Verbs& verbs, MemoryMaps& maps,
                const RdmaClientOptions& options);
  ~RdmaConnector();
  RdmaConnector(const RdmaConnector&) = delete;
  RdmaConnector& operator=(const RdmaConnector&) = delete;

  // Attaches the client, which has no connection, to an established one. Fails with the errno with which the
  // device refused, ECONNREFUSED when the server did or could not be reached, ECANCELED after close().
  io::Op<> connect(rpc::PeerAddress to, rpc::Client& client);
  [[nodiscard]] std::size_t connections() const { return open_.size(); }
  // Ends every connection and waits for that; for one that the device does not flush until a sweep behind
  // flush_limit has taken it back.
  io::Op<> close();

  // Looks at the limits of every connection; happens by itself every sweep_interval.
  void check_limits();

 private:
  friend class ClientConnection;

  struct Asked {
    ClientConnection* connection;
    std::coroutine_handle<> waiter;
  };

  // It is established, or will never be.
  void wake(ClientConnection& connection);
  void forget(ClientConnection& connection);
  void retry_later();
  io::Op<> retry();
  void start_sweeping();
  io::Op<> sweep();

  io::Reactor& reactor_;
  io::SlabPool& pool_;
  Verbs& verbs_;
  MemoryMaps& maps_;
  const RdmaClientOptions options_;
  io::SlabCursor cursor_;
  std::vector<std::unique_ptr<ClientConnection>> open_;
  std::vector<Asked> asked_;
  bool sweeping_ = false;
  bool retrying_ = false;
  io::Timer sweep_timer_;
  io::Gate gate_;
  std::vector<io::Gate::Hold> holds_;  // one per connection
};

}  // namespace braid::rdma
