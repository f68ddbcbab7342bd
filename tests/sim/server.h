// One life of the server under test, from its start to its death: the real engine behind the real RPC layer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/metrics.h"
#include "io/blocking_pool.h"
#include "io/gate.h"
#include "io/slab.h"
#include "nfs4/engine.h"
#include "rpc/server.h"
#include "rpc/tcp_worker.h"
#include "tests/sim/door.h"
#include "tests/sim/machine.h"
#include "tests/sim/plant.h"
#include "vfs/memory/file_system.h"

namespace braid::sim {

// What clients are told (lease_time) and the checkers go by.
constexpr base::Duration lease_time = std::chrono::seconds(20);

// Belongs to the simulation's thread. kill() once; may be destroyed when ended().
class Server {
 public:
  // `life`: 1 for the first server, and so on.
  Server(Machine& machine, vfs::memory::Storage& storage, Changes& changes, io::SlabPool& slabs,
         const Random& random, Plant plant, std::uint32_t life);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::uint32_t life() const { return life_; }
  [[nodiscard]] base::TimePoint born() const { return born_; }
  [[nodiscard]] rpc::Acceptor& acceptor() { return *worker_; }
  // What the server does every second.
  void tick();
  // As kill -9: from now on nothing it does has an effect. Its connections are to be closed by the caller.
  void kill();
  // Nothing of it runs any more.
  [[nodiscard]] bool ended() const;

 private:
  static io::Op<> tick_engine(Server& self);
  static io::Op<> close_engine(Server& self);

  const std::uint32_t life_;
  const Plant plant_;
  const base::TimePoint born_;
  Door door_;
  std::shared_ptr<vfs::memory::MemoryFileSystem> files_;
  std::unique_ptr<vfs::Exports> exports_;
  io::BlockingPool pool_{{}};
  base::MetricRegistry metrics_;
  std::unique_ptr<nfs4::Nfs4Engine> engine_;
  std::unique_ptr<rpc::Server> rpc_;
  std::unique_ptr<rpc::ServerWorker> worker_;
  rpc::TcpMetrics tcp_metrics_{metrics_};
  rpc::TcpWorker tcp_;
  bool ticking_ = false;
  bool closing_ = false;
  bool closed_ = false;
  io::Gate gate_;
  std::optional<io::Gate::Hold> stuck_;
};

}  // namespace braid::sim
