// The serving side of ONC RPC (RFC 5531), for any transport.
//
// One Server is shared by all reactors; each reactor has a ServerWorker, which is the Acceptor of the
// transports there. A message becomes a RunningCall: header, route, duplicate-request cache, handler, reply.
// Calls of one connection run side by side and are answered in the order in which they end.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/guarded.h"
#include "base/metrics.h"
#include "base/siphash.h"
#include "io/gate.h"
#include "io/reactor.h"
#include "io/slab.h"
#include "rpc/dispatch_table.h"
#include "rpc/memory_budget.h"
#include "rpc/peer_account.h"
#include "rpc/program.h"
#include "rpc/replay_cache.h"
#include "rpc/transport.h"
#include "rpc/usage.h"

namespace braid::rpc {

class Session;

struct ServerOptions {
  // Memory of calls from their arrival until their reply has left, one connection's and all together: at
  // these amounts reading stops. `bytes_max` should leave room in the slab pool: slabs are held whole.
  std::size_t connection_bytes_max = 32 * base::MiB;
  std::size_t bytes_max = 512 * base::MiB;
  ReplayCacheOptions replay;
  bool piped_arguments = true;  // bulk data of arguments may stay in a pipe (Procedure::bulk)
  // Whether this server has anything for the peer; asked when it connects. Others have an eighth of a share.
  // Null: it has for all.
  std::function<bool(const PeerAddress&)> knows{};
};

// Calls that no handler saw, and handlers that could not answer.
struct RefusalMetrics {
  explicit RefusalMetrics(base::MetricRegistry& registry);
  base::Counter& malformed;  // no RPC message: the connection is closed
  base::Counter& unexpected_reply;
  base::Counter& rpc_mismatch;
  base::Counter& auth_error;
  base::Counter& prog_unavail;
  base::Counter& prog_mismatch;
  base::Counter& proc_unavail;
  base::Counter& garbage_args;
  base::Counter& system_err;
};

// Thread-safe. Outlives its workers; `programs` and what they refer to outlive it.
class Server {
 public:
  Server(const ServerOptions& options, std::span<const Program> programs, base::MetricRegistry& registry,
         const base::SipKey& key);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] const ServerOptions& options() const { return options_; }
  [[nodiscard]] const DispatchTable& table() const { return table_; }
  [[nodiscard]] RefusalMetrics& refusals() { return refusals_; }
  [[nodiscard]] ReplayCache& replays() { return replays_; }
  [[nodiscard]] MemoryBudget& budget() { return budget_; }
  [[nodiscard]] PeerAccounts& accounts() { return accounts_; }
  [[nodiscard]] Usage& usage() { return usage_; }
  [[nodiscard]] bool knows(const PeerAddress& peer) const { return !options_.knows || options_.knows(peer); }
  // A peer that has more than its share has to wait.
  void note_over_share(const PeerAddress& peer, PeerAccount& account, base::TimePoint now);
  // A number that no other connection of this server has; never 0.
  [[nodiscard]] std::uint64_t next_connection() {
    return connections_.fetch_add(1, std::memory_order_relaxed) + 1;
  }

 private:
  const ServerOptions options_;
  DispatchTable table_;
  RefusalMetrics refusals_;
  ReplayCache replays_;
  MemoryBudget budget_;
  PeerAccounts accounts_;
  Usage usage_;
  base::Counter& over_share_;
  std::atomic<std::uint64_t> connections_{0};
};

// Belongs to one reactor's thread. Destroyed after the reactor's run() has returned, or on its thread with
// every connection closed and every call ended.
class ServerWorker final : public Acceptor {
 public:
  ServerWorker(Server& server, io::Reactor& reactor, io::SlabPool& pool);
  ~ServerWorker() override;
  ServerWorker(const ServerWorker&) = delete;
  ServerWorker& operator=(const ServerWorker&) = delete;

  Receiver& on_connected(Connection& connection) override;
  [[nodiscard]] bool knows(const PeerAddress& peer) const override { return server_.knows(peer); }
  [[nodiscard]] bool short_of_memory() const override { return server_.budget().exhausted(); }
  // Connections, and ended ones whose calls, in either direction, still run.
  [[nodiscard]] std::size_t sessions() const { return sessions_ + ended_channels_.count(); }

 private:
  friend class Session;
  friend class RunningCall;

  void wait_for_budget(Session& session);
  void forget(Session& session);
  // Lets the connections that wait for the common budget look again.
  void wake_blocked();
  // Any thread: lets this one look again, whose peer had more than its share.
  void wake_later(Session& session);

  Server& server_;
  io::Reactor& reactor_;
  io::SlabCursor cursor_;
  BudgetShare share_;
  std::vector<Session*> blocked_;  // wait for the common budget
  bool wake_wanted_ = false;       // the budget has been asked to wake us
  // Sessions whose peer has its share again.
  using Woken = base::Guarded<std::vector<Session*>>;
  const std::shared_ptr<Woken> woken_ = std::make_shared<Woken>();
  std::size_t sessions_ = 0;
  io::Gate ended_channels_;
};

}  // namespace braid::rpc
