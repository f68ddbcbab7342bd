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
#include "tests/sim/host.h"
#include "tests/sim/machine.h"
#include "tests/sim/plant.h"
#include "vfs/memory/file_system.h"
#include "vfs/memory/objects.h"

namespace braid::sim {

// What clients are told (lease_time) and the checkers go by.
constexpr base::Duration lease_time = std::chrono::seconds(20);

// What outlives servers.
struct Files {
  explicit Files(const base::Clock& clock) : storage(export_id, &clock) {}
  vfs::memory::Storage storage;
  vfs::memory::Objects objects;
  // The bytes of files are in objects from the first WRITE on.
  bool in_objects = false;
  Changes changes;
};

// Belongs to the simulation's thread. kill() once; may be destroyed when ended().
class Server final : public Host {
 public:
  // `life`: 1 for the first server, and so on.
  Server(Machine& machine, Files& files, io::SlabPool& slabs, const Random& random, Plant plant,
         std::uint32_t life);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::uint32_t life() const override { return life_; }
  [[nodiscard]] base::TimePoint born() const { return born_; }
  [[nodiscard]] rpc::Acceptor& acceptor() override { return *worker_; }
  // What the server does every second.
  void tick();
  // Exchanges the content of this file for another one with the same bytes.
  void place(std::uint64_t fileid);
  // Two clients take very many locks of this file, or wait for them, and are never heard of again. The second
  // time one of them is evicted, and so on.
  void hoard(std::uint64_t fileid, std::uint64_t number);
  // How many entries the call of the state layer has looked at that has looked at most.
  [[nodiscard]] std::uint64_t longest_call() const;
  // How many calls of the file system there were in the turn of the reactor with most.
  [[nodiscard]] std::uint64_t longest_turn() const { return door_.longest_turn(); }
  // As kill -9: from now on nothing it does has an effect. Its connections are to be closed by the caller.
  void kill();
  // Nothing of it runs any more.
  [[nodiscard]] bool ended() const;

 private:
  static io::Op<> tick_engine(Server& self);
  static io::Op<> close_engine(Server& self);
  static io::Op<> evict(Server& self, nfs4::clientid4 client);
  static io::Op<> place_file(Server& self, std::uint64_t fileid);
  static io::Op<> begin_to_hoard(Server& self, std::uint64_t fileid, std::uint64_t number);

  const std::uint32_t life_;
  const Plant plant_;
  const base::TimePoint born_;
  Files& stored_;
  Door door_;
  vfs::memory::ObjectSource source_;
  std::shared_ptr<vfs::memory::MemoryFileSystem> files_;
  std::unique_ptr<vfs::Exports> exports_;
  io::BlockingPool pool_{{}};
  base::MetricRegistry metrics_;
  std::unique_ptr<nfs4::Nfs4Engine> engine_;
  std::unique_ptr<rpc::Server> rpc_;
  std::unique_ptr<rpc::ServerWorker> worker_;
  rpc::TcpMetrics tcp_metrics_{metrics_};
  rpc::TcpWorker tcp_;
  nfs4::clientid4 hoarder_ = 0;
  bool ticking_ = false;
  bool closing_ = false;
  bool closed_ = false;
  io::Gate gate_;
  std::optional<io::Gate::Hold> stuck_;
};

}  // namespace braid::sim
