// One process of the metadata server: the real engine with layouts and striped files, over names in memory.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/metrics.h"
#include "io/blocking_pool.h"
#include "io/gate.h"
#include "io/slab.h"
#include "nfs4/engine.h"
#include "pnfs/control_service.h"
#include "pnfs/striping.h"
#include "pnfs_mds/cluster.h"
#include "pnfs_mds/control_calls.h"
#include "pnfs_mds/control_handler.h"
#include "pnfs_mds/layouts/layouts.h"
#include "pnfs_mds/settler.h"
#include "rpc/server.h"
#include "rpc/tcp_worker.h"
#include "tests/sim/cluster/options.h"
#include "tests/sim/cluster/plant.h"
#include "tests/sim/cluster/switchboard.h"
#include "tests/sim/door.h"
#include "tests/sim/host.h"
#include "tests/sim/machine.h"
#include "vfs/export.h"
#include "vfs/memory/file_system.h"
#include "vfs/types.h"

namespace braid::sim::cluster {

// Outlives its processes.
struct Names {
  explicit Names(const base::Clock& clock) : storage(export_id, &clock) {}
  vfs::memory::Storage storage;
  Changes changes;
};

struct MetadataHostParts {
  Machine& machine;
  Switchboard& board;
  io::SlabPool& slabs;
  Names& names;
  pnfs_mds::StripePolicy policy;
  std::uint32_t life = 0;
  Plant plant = Plant::none;
  // A SETATTR was carried out: of its size, while no other one of the file was.
  std::function<void(std::uint64_t fileid, vfs::LeaseHolder who)> on_setattr{};
};

// As DataHost.
class MetadataHost final : public Host {
 public:
  static std::expected<std::unique_ptr<MetadataHost>, std::string> start(const MetadataHostParts& parts,
                                                                         const Random& random);
  MetadataHost(const MetadataHost&) = delete;
  MetadataHost& operator=(const MetadataHost&) = delete;

  [[nodiscard]] std::uint32_t life() const override { return parts_.life; }
  [[nodiscard]] rpc::Acceptor& acceptor() override { return *worker_; }
  void tick();
  void kill();
  [[nodiscard]] bool ended() const;
  [[nodiscard]] pnfs_mds::Cluster& cluster() { return *cluster_; }

 private:
  MetadataHost(const MetadataHostParts& parts, const Random& random);
  std::expected<void, std::string> open();
  std::expected<void, std::string> assemble();
  // What the engine knows of layouts.
  void tell_data_servers();
  void wake();
  static io::Op<> remove_objects(MetadataHost& self);
  static io::Op<> look_at_earlier(MetadataHost& self);
  vfs::VfsOp<pnfs_mds::Removals::Fate> fate_of(vfs::FileHandle file) const;
  static io::Op<> settle(MetadataHost& self);
  vfs::VfsOp<pnfs_mds::Settler::Reached> reach(vfs::FileHandle file) const;
  static io::Op<> tick_engine(MetadataHost& self);
  static io::Op<> close(MetadataHost& self);

  const MetadataHostParts parts_;
  Door door_;
  io::BlockingPool pool_{{}};
  base::MetricRegistry metrics_;
  pnfs_mds::ControlCalls calls_;
  std::unique_ptr<pnfs_mds::Cluster> cluster_;
  std::optional<pnfs_mds::layouts::Layouts> layouts_;
  std::optional<pnfs_mds::MetadataControl> control_;
  std::optional<pnfs::ControlService> service_;
  std::shared_ptr<vfs::memory::MemoryFileSystem> files_;
  std::unique_ptr<vfs::Exports> exports_;
  std::unique_ptr<nfs4::Nfs4Engine> engine_;
  std::unique_ptr<rpc::Server> rpc_;
  std::unique_ptr<rpc::ServerWorker> worker_;
  rpc::TcpMetrics tcp_metrics_{metrics_};
  rpc::TcpWorker tcp_;
  std::uint64_t ticks_ = 0;
  bool looking_ = false;
  bool settling_ = false;
  bool ticking_ = false;
  bool closing_ = false;
  bool closed_ = false;
  io::Gate gate_;
  std::optional<pnfs_mds::Settler> settler_;
};

}  // namespace braid::sim::cluster
