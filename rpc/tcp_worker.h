// RPC over TCP (RFC 5531 section 11) on one reactor: its connections, their receive buffer, their time
// limits.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/metrics.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "io/gate.h"
#include "io/op.h"
#include "io/pipe.h"
#include "io/reactor.h"
#include "io/slab.h"
#include "rpc/address_turns.h"
#include "rpc/connection_limit.h"
#include "rpc/peer_account.h"
#include "rpc/transport.h"

namespace braid::rpc {

class TcpConnection;

struct TcpOptions {
  std::size_t record_bytes_max = base::MiB + 64 * base::KiB;  // a longer record ends the connection
  int send_buffer_bytes =
      4 * 1024 * 1024;  // so that a bulk reply leaves in one call; the system may grant less
  // No call and no reply for so long: the connection is closed. Linux clients hang up by themselves after 5
  // minutes.
  base::Duration idle_limit = std::chrono::minutes(6);
  // A record must be complete, and queued replies must move, within this time; slow lorises end here.
  base::Duration stall_limit = std::chrono::seconds(60);
  // The same while memory is short.
  base::Duration stall_limit_short = std::chrono::seconds(2);
  base::Duration sweep_interval = std::chrono::seconds(5);  // how often limits are looked at
  // Between the last reply of a drain and the end of the connections. The Linux client closes its end when it
  // learns of ours, and what it has not read by then it has not got, though its TCP acknowledged it: it would
  // repeat that call to the next server, which may then meet the call's own effect.
  base::Duration drain_linger = std::chrono::milliseconds(200);
  // TCP keep-alive: probes after this idle time, every so often, so many.
  int keepalive_idle_s = 60;
  int keepalive_interval_s = 10;
  int keepalive_probes = 6;
};

// Shared by all workers of a server.
struct TcpMetrics {
  explicit TcpMetrics(base::MetricRegistry& registry);
  base::Counter& accepted;
  base::Counter& closed_idle;
  base::Counter& closed_stalled;
  base::Counter& closed_record;
  base::Counter& closed_limit;
  base::Counter& refused;       // accept() failed for lack of descriptors or memory
  base::Counter& memory_waits;  // reads put off because the slab pool was exhausted
};

// Belongs to one reactor's thread except where noted. start() once; before destruction close() must have
// ended.
class TcpWorker {
 public:
  // `pipes`: offered to calls for bulk data of replies; null: none. The process must ignore SIGPIPE then.
  TcpWorker(io::Reactor& reactor, io::SlabPool& pool, io::PipePool* pipes, const TcpOptions& options,
            TcpMetrics& metrics);
  ~TcpWorker();
  TcpWorker(const TcpWorker&) = delete;
  TcpWorker& operator=(const TcpWorker&) = delete;

  // A connection of ours to a server: its messages go to `receiver`, which must live until its on_closed().
  Connection& open(base::UniqueFd socket, Receiver& receiver);
  // Any thread: takes over a connection from a client. Several acceptors may share a worker; each lives as
  // long as the worker.
  void adopt(base::UniqueFd socket, const PeerAddress& peer, Acceptor& acceptor,
             ConnectionLimit::Place place);
  // Any thread: connections taken over and not yet closed.
  [[nodiscard]] std::size_t connections() const { return count_.load(std::memory_order_relaxed); }
  // Any thread: those of ours to servers.
  [[nodiscard]] std::size_t connections_made() const { return made_.load(std::memory_order_relaxed); }
  // Closes the connection of a client at this address that has been idle longest, or, if none is idle and
  // `busy_too`, the one that has been silent longest; of many, among some. False: there is none.
  bool close_one(const PeerKey& of, bool busy_too);

  // Stops reading calls, waits until the running ones are answered and their replies have had time to be
  // read, and hangs up; at most until about `limit` from now. True if all ended in time.
  io::Op<bool> drain(base::Duration limit);
  // Closes every connection and waits for that.
  io::Op<> close();

  [[nodiscard]] io::Reactor& reactor() const { return reactor_; }
  // Which other transports of this reactor ask too; as long as this exists.
  [[nodiscard]] AddressTurns& turns() { return turns_; }

 private:
  friend class TcpConnection;

  // The receive buffer that connections of this worker use in turn: a small slab and how much of it is used
  // up.
  struct ReceiveBuffer {
    io::SlabRef slab;
    std::size_t used = 0;
  };
  // With room for at least `bytes_min`, which fits a small slab.
  base::Result<ReceiveBuffer> take_buffer(std::size_t bytes_min);
  void give_buffer(ReceiveBuffer buffer);

  TcpConnection& add(std::unique_ptr<TcpConnection> connection, Receiver* receiver);
  io::Op<> serve(std::unique_ptr<TcpConnection> connection, Receiver& receiver);
  // The connection has ended; its receiver may be gone soon.
  void forget(TcpConnection& connection);
  void start_sweeping();
  io::Op<> sweep();
  void check_limits();
  // Of a drain: every call that was read is answered, and the socket has the reply.
  [[nodiscard]] bool all_quiet() const;
  // Then: hangs up, and tells whether every peer's TCP has all of it.
  [[nodiscard]] bool all_hung_up() const;

  io::Reactor& reactor_;
  io::SlabPool& pool_;
  io::PipePool* const pipes_;
  const TcpOptions options_;
  TcpMetrics& metrics_;
  std::vector<Acceptor*> acceptors_;  // that connections were taken over for
  std::vector<TcpConnection*> open_;
  // Of clients, by address; close_one() goes round.
  struct OfAddress {
    std::vector<TcpConnection*> open;
    std::size_t next = 0;
  };
  std::map<PeerKey, OfAddress> by_address_;
  AddressTurns turns_;
  std::atomic<std::size_t> count_{0};
  std::atomic<std::size_t> made_{0};
  ReceiveBuffer buffer_;
  bool draining_ = false;
  bool sweeping_ = false;
  std::uint64_t exhausted_seen_ = 0;  // of the pool's counter, at the last look
  io::Timer sweep_timer_;
  io::Gate gate_;
};

}  // namespace braid::rpc
