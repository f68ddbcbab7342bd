// The parts of a running NFSv4 server, in the order of their dependence.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/log_limiter.h"
#include "base/metrics.h"
#include "base/result.h"
#include "io/blocking_pool.h"
#include "io/op.h"
#include "io/reactor.h"
#include "io/slab.h"
#include "nfs4/attributes/source.h"
#include "nfs4/callback/callbacks.h"
#include "nfs4/clients.h"
#include "nfs4/copy_jobs.h"
#include "nfs4/engine_parts.h"
#include "nfs4/idmap/id_map.h"
#include "nfs4/options.h"
#include "nfs4/pseudo/pseudo_tree.h"
#include "nfs4/recovery/client_records.h"
#include "nfs4/server_state.h"
#include "nfs4/service.h"
#include "nfs4/state/states.h"
#include "rpc/tcp_worker.h"

namespace braid::nfs4 {

// What the engine shares with the rest of a server; outlives it.
struct EngineResources {
  const base::Clock& clock;
  const vfs::Exports& exports;
  io::BlockingPool& pool;
  io::SlabPool& slabs;
  base::MetricRegistry& metrics;
};

struct EngineOptions {
  Nfs4Options nfs;
  state::ClientOptions clients;
  state::StateLimits states;
  IdMapOptions ids;
  std::size_t callback_connections_max = 1024;  // to clients of 4.0
};

// create(), then start() once there is a thread for calls to clients, and close() before that thread ends.
class Nfs4Engine {
 public:
  // What must outlive restarts is kept in `state_dir`, which exists. Errors as of ClientStore::open().
  static base::Result<std::unique_ptr<Nfs4Engine>> create(const EngineOptions& options,
                                                          const EngineResources& resources,
                                                          const std::string& state_dir,
                                                          EngineParts parts = {});
  // With other records, or none (recovery::NoRecords).
  Nfs4Engine(const EngineOptions& options, const EngineResources& resources,
             std::unique_ptr<recovery::ClientRecords> records, EngineParts parts);
  // The process that uses this state directory, as far as the system tells.
  static std::optional<int> user_of(const std::string& state_dir);
  Nfs4Engine(const Nfs4Engine&) = delete;
  Nfs4Engine& operator=(const Nfs4Engine&) = delete;
  ~Nfs4Engine();

  [[nodiscard]] rpc::Program program() { return service_.program(); }
  [[nodiscard]] const ServerState& state() const { return state_; }
  [[nodiscard]] const OperationTable& table() const { return service_.table(); }

  // From now on clients can be called back and copies go on in the background; before any request is served.
  // Both belong to `reactor`, whose TcpWorker makes the connections to 4.0 clients.
  void start(io::Reactor& reactor, rpc::TcpWorker& tcp);
  // On that reactor's thread: ends copies, calls to clients, and the connections for them.
  io::Op<> close();
  // After close(), when no call runs any more: keeps what clients hold for the next run. Blocks.
  base::Result<void> note_held();
  // Once a second, on a reactor's thread: leases, grace period, delegations that do not come back.
  io::Op<> tick();

  // By an administrator, on a reactor's thread: see Clients::evict() and Clients::revoke().
  Op4<bool> evict(clientid4 client);
  Op4<> revoke(clientid4 client);
  [[nodiscard]] const OperationMetrics& metrics() const { return service_.metrics(); }

 private:
  // Opens, locks and delegations, and the copies that run for a client.
  class OwnState final : public state::ClientObserver {
   public:
    explicit OwnState(Nfs4Engine& engine) : engine_(engine) {}
    [[nodiscard]] bool holds_state(clientid4 client) const override;
    void stop(clientid4 client) override;
    [[nodiscard]] bool stopping(clientid4 client) const override;
    io::Op<> stopped(clientid4 client) override;
    void release(clientid4 client) override;
    void revoke(clientid4 client) override;

   private:
    Nfs4Engine& engine_;
  };

  [[nodiscard]] std::vector<state::ClientObserver*> observers(
      const std::vector<state::ClientObserver*>& others);
  void register_metrics(base::MetricRegistry& registry);
  void register_delegation_metrics(base::MetricRegistry& registry);
  void tell_of_refused(base::TimePoint now);
  io::Op<> compare_held(base::TimePoint now);

  const EngineOptions options_;
  const EngineResources resources_;
  const attributes::ServerFacts facts_;
  PseudoFileSystem pseudo_;
  SystemNames names_;
  IdMap ids_;
  const std::unique_ptr<recovery::ClientRecords> records_;
  base::Guarded<state::States> states_;
  OwnState own_state_{*this};
  Clients clients_;
  ServerState state_;
  Nfs4Service service_;
  base::LogLimiter lines_of_locks_;
  base::LogLimiter lines_of_states_;
  // From start() on.
  std::optional<callback::Callbacks> callbacks_;
  std::optional<CopyJobs> copies_;
};

}  // namespace braid::nfs4
