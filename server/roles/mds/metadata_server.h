// The metadata server of a pNFS cluster, as a capability of the role that serves the exports.
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "io/gate.h"
#include "io/reactor.h"
#include "pnfs/control_service.h"
#include "pnfs_mds/cluster.h"
#include "pnfs_mds/control_calls.h"
#include "pnfs_mds/control_handler.h"
#include "pnfs_mds/layouts/layouts.h"
#include "pnfs_mds/settler.h"
#include "server/config/config.h"
#include "server/roles/mds/cluster_report.h"
#include "server/roles/nfs/capability.h"
#include "vfs/export.h"

namespace braid::server::roles::mds {

class MetadataServer final : public nfs::Capability {
 public:
  // The configuration has PnfsConfig::on. Waits for another process that has the state directory, as
  // NfsRole::make(). The error is a sentence for the user. `clock` outlives it.
  static std::expected<std::shared_ptr<MetadataServer>, std::string> open(const config::Config& config,
                                                                          const std::string& state_dir,
                                                                          const base::Clock& clock);

  std::vector<vfs::ContentSource*> sources(const config::ExportConfig& config) override;
  // What is written to a striped file is sent on, and looked at for that.
  [[nodiscard]] bool takes_pipes() const override { return false; }
  void join(const Shared& shared, nfs4::EngineParts& parts) override;
  [[nodiscard]] std::vector<rpc::Program> programs() override { return {service_.program()}; }
  void start(std::span<const std::unique_ptr<ServerThread>> threads, nfs4::Nfs4Engine& engine) override;
  io::Op<> tick() override;
  io::Op<bool> take_back(vfs::ExportId from) override;
  io::Op<> close() override;
  void describe(std::vector<admin::AdminCommand>& commands) override;

  [[nodiscard]] pnfs_mds::Cluster& cluster() { return *cluster_; }

 private:
  MetadataServer(const config::PnfsConfig& config, std::unique_ptr<pnfs_mds::ControlCalls> calls,
                 std::unique_ptr<pnfs_mds::Cluster> cluster, const base::Clock& clock);
  void register_metrics(base::MetricRegistry& metrics);
  // At most once a minute.
  void tell_of_in_band(std::uint64_t tick);
  // Layouts that the exports do not permit any more, since a reload, are recalled.
  io::Op<> look_at_exports();
  // Has the objects of removed files removed, on the first thread.
  void wake();
  io::Op<> remove_objects();
  // Whether files that a run before was about to remove are still there.
  io::Op<> look_at_earlier();
  vfs::VfsOp<pnfs_mds::Removals::Fate> fate_of(vfs::FileHandle file) const;
  // Has what is dirty settled, and then clean.
  io::Op<> settle();
  vfs::VfsOp<pnfs_mds::Settler::Reached> reach(vfs::FileHandle file) const;
  // On the first thread, unless it runs there already.
  void run_at_home(bool& running, io::Op<> (MetadataServer::*work)());

  [[nodiscard]] pnfs::Introduction introduction() const;

  const rpc::Transport control_transport_;
  const bool signs_bulk_;
  const std::unique_ptr<pnfs_mds::ControlCalls> calls_;
  const std::unique_ptr<pnfs_mds::Cluster> cluster_;
  ExportDirectories directories_;
  pnfs_mds::layouts::Layouts layouts_;
  pnfs_mds::MetadataControl control_;
  pnfs::ControlService service_;
  // From join() on.
  io::SlabPool* slabs_ = nullptr;
  const vfs::Exports* exports_ = nullptr;
  const nfs4::ServerState* state_ = nullptr;                  // from start() on
  std::shared_ptr<const vfs::ExportTable> looked_at_;         // with all layouts that there were
  base::Guarded<io::Reactor*> home_{std::in_place, nullptr};  // from start() to close()
  std::uint64_t ticks_ = 0;
  std::uint64_t tell_from_ = 0;  // from which tick on in-band I/O is told of
  // Of the first thread.
  io::Gate gate_;
  pnfs_mds::Settler settler_;
  bool looking_ = false;
  bool settling_ = false;
};

}  // namespace braid::server::roles::mds
