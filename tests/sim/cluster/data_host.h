// One process of a data server: the real one of pnfs_ds, over objects in memory.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "base/metrics.h"
#include "io/blocking_pool.h"
#include "io/gate.h"
#include "io/slab.h"
#include "nfs4/engine.h"
#include "pnfs/control_service.h"
#include "pnfs_ds/contact.h"
#include "pnfs_ds/control_calls.h"
#include "pnfs_ds/data_server.h"
#include "pnfs_ds/fence_log.h"
#include "pnfs_ds/fence_table.h"
#include "pnfs_ds/metadata_link.h"
#include "pnfs_ds/objects.h"
#include "pnfs_ds/store_directory.h"
#include "rpc/server.h"
#include "rpc/tcp_worker.h"
#include "tests/sim/cluster/medium.h"
#include "tests/sim/cluster/plant.h"
#include "tests/sim/cluster/switchboard.h"
#include "tests/sim/host.h"
#include "tests/sim/machine.h"
#include "vfs/export.h"
#include "vfs/memory/file_system.h"

namespace braid::sim::cluster {

struct DataHostParts {
  Machine& machine;
  Switchboard& board;
  io::SlabPool& slabs;
  Medium& medium;
  std::uint32_t number = 0;  // of the server
  std::uint32_t life = 0;
  base::Duration delay_max{};  // of a call of its file system
  Plant plant = Plant::none;
};

// Belongs to the simulation's thread. kill() once; may be destroyed when ended().
class DataHost final : public Host {
 public:
  // The error is what the process ends with.
  static std::expected<std::unique_ptr<DataHost>, std::string> start(const DataHostParts& parts,
                                                                     const Random& random);
  DataHost(const DataHost&) = delete;
  DataHost& operator=(const DataHost&) = delete;

  [[nodiscard]] std::uint32_t life() const override { return parts_.life; }
  [[nodiscard]] rpc::Acceptor& acceptor() override { return *worker_; }
  // Why it is about to end of its own accord; empty: it is not.
  [[nodiscard]] std::string failure() const { return heartbeats_->failure(); }
  // It refuses this handle because the object has a newer epoch.
  [[nodiscard]] bool is_fenced(base::BytesView handle) const;
  void tick();
  // As kill -9: from now on nothing it does has an effect. Connections to it are to be closed by the caller.
  void kill();
  [[nodiscard]] bool ended() const;

 private:
  struct Opened {
    std::unique_ptr<pnfs_ds::StoreDirectory> store;
    std::optional<pnfs::ClusterSecret> secret;
    std::unique_ptr<pnfs_ds::FenceTable> fences;
    std::unique_ptr<pnfs_ds::FenceLog> log;
  };
  DataHost(const DataHostParts& parts, const Random& random);
  std::expected<void, std::string> open();
  void assemble();
  [[nodiscard]] pnfs::Introduction introduction() const;
  static io::Op<> tick_engine(DataHost& self);
  static io::Op<> close(DataHost& self);

  const DataHostParts parts_;
  MediumDoor door_;
  std::shared_ptr<vfs::memory::MemoryFileSystem> files_;
  io::BlockingPool pool_{{}};
  base::MetricRegistry metrics_;
  Opened opened_;
  vfs::Exports exports_;
  std::optional<pnfs_ds::Contact> contact_;
  std::optional<pnfs_ds::Objects> objects_;
  pnfs_ds::MetadataPeers peers_;
  std::optional<pnfs_ds::ControlCalls> calls_;
  std::optional<pnfs::ControlService> control_;
  std::unique_ptr<pnfs_ds::DataServer> server_;
  std::unique_ptr<nfs4::Nfs4Engine> engine_;
  std::optional<rpc::Server> rpc_;
  std::unique_ptr<rpc::ServerWorker> worker_;
  rpc::TcpMetrics tcp_metrics_{metrics_};
  rpc::TcpWorker tcp_;
  std::unique_ptr<pnfs_ds::Heartbeats> heartbeats_;
  bool ticking_ = false;
  bool closing_ = false;
  bool closed_ = false;
  io::Gate gate_;
  std::optional<io::Gate::Hold> stuck_;
};

}  // namespace braid::sim::cluster
