// A data server of a pNFS cluster: its objects for clients with layouts, and for its metadata server.
#pragma once

#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nfs4/engine.h"
#include "pnfs/call_counters.h"
#include "pnfs/control_service.h"
#include "pnfs/keys.h"
#include "pnfs_ds/contact.h"
#include "pnfs_ds/control_calls.h"
#include "pnfs_ds/data_server.h"
#include "pnfs_ds/fence_log.h"
#include "pnfs_ds/fence_table.h"
#include "pnfs_ds/metadata_link.h"
#include "pnfs_ds/objects.h"
#include "pnfs_ds/store_directory.h"
#include "rpc/program.h"
#include "rpc/server.h"
#include "server/config/config.h"
#include "server/role.h"
#include "server/roles/stores/stores.h"
#include "vfs/export.h"
#include "vfs/posix/file_system.h"

namespace braid::server::roles::data_server {

class DataServerRole final : public Role {
 public:
  // `own` is one of the data servers of `config`. The error is a sentence for the user.
  static std::expected<std::unique_ptr<Role>, std::string> make(const Shared& shared,
                                                                const config::Config& config,
                                                                const config::DataServerConfig& own);

  [[nodiscard]] rpc::Server& rpc() override { return *rpc_; }
  [[nodiscard]] std::span<const rpc::Program> programs() const override { return programs_; }
  [[nodiscard]] Listen listen() const override;
  void reached_at(const std::vector<rpc::PeerAddress>& addresses,
                  const std::vector<rpc::PeerAddress>& first) override;
  void start(std::span<const std::unique_ptr<ServerThread>> threads) override;
  void served(std::optional<std::uint16_t> rdma_port) override;
  io::Op<> tick() override;
  io::Op<> close() override;
  void describe(std::vector<admin::AdminCommand>& commands) override {
    if (opened_.chunks != nullptr) opened_.chunks->describe(commands);
  }
  void report(nlohmann::json& members) const override;
  [[nodiscard]] std::string failure() const override;

 private:
  // What is on disk, and where the metadata server is.
  struct Opened {
    pnfs::ClusterSecret secret;
    pnfs_ds::MetadataAddress mds;  // from reached_at() on, if it is the first role of this server
    std::unique_ptr<pnfs_ds::StoreDirectory> store;
    std::shared_ptr<stores::Stores> chunks;  // null: objects are not sealed
    std::shared_ptr<vfs::posix::PosixFileSystem> files;
    std::unique_ptr<pnfs_ds::FenceTable> fences;
    std::unique_ptr<pnfs_ds::FenceLog> log;
  };
  static std::expected<Opened, std::string> open(const Shared& shared, const config::Config& all,
                                                 const config::DataServerConfig& config,
                                                 std::size_t open_files_max);

  DataServerRole(const Shared& shared, const config::DataServerConfig& own, Opened opened,
                 std::size_t open_files_max);
  std::expected<void, std::string> assemble(const Shared& shared, const config::Config& config,
                                            std::size_t open_files_max);
  [[nodiscard]] pnfs::Introduction introduction() const;

  const config::DataServerConfig config_;
  io::SlabPool& slabs_;
  io::BlockingPool& pool_;
  Opened opened_;
  vfs::Exports exports_;         // none: objects are in no export
  vfs::Exports objects_export_;  // one, which no client sees: for the store
  pnfs_ds::Contact contact_;
  pnfs_ds::Objects objects_;
  std::optional<pnfs::CallCounters> counters_;
  pnfs_ds::MetadataPeers peers_;
  pnfs_ds::ControlCalls calls_;
  pnfs::ControlService control_;
  std::unique_ptr<pnfs_ds::DataServer> server_;
  std::unique_ptr<nfs4::Nfs4Engine> engine_;
  std::vector<rpc::Program> programs_;
  std::optional<rpc::Server> rpc_;
  std::unique_ptr<pnfs_ds::Heartbeats> heartbeats_;  // from start() on; they begin when it is served
  std::span<const std::unique_ptr<ServerThread>> threads_;
  mutable std::mutex mutex_;
  std::string name_;                                    // of the three
  std::vector<rpc::PeerAddress> told_;                  // by TCP
  std::vector<pnfs::Introduction::Address> addresses_;  // guarded by mutex_
};

}  // namespace braid::server::roles::data_server
