// Serving the exports by NFSv3, MOUNT and NFSv4, on one port.
#pragma once

#include <expected>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nfs3/mount/service.h"
#include "nfs3/service.h"
#include "nfs4/engine.h"
#include "rpc/program.h"
#include "rpc/server.h"
#include "server/config/config.h"
#include "server/role.h"
#include "server/roles/nfs/capability.h"

namespace braid::server::roles::nfs {

class NfsRole final : public Role {
 public:
  // Waits for another process that uses the state directory, for as long as that may take to drain, unless
  // this one is told to end. The error is a sentence for the user.
  static std::expected<std::unique_ptr<Role>, std::string> make(const Shared& shared,
                                                                const config::Config& config,
                                                                Capabilities capabilities);

  [[nodiscard]] rpc::Server& rpc() override { return rpc_; }
  [[nodiscard]] std::span<const rpc::Program> programs() const override { return programs_; }
  [[nodiscard]] Listen listen() const override { return listen_; }
  void start(std::span<const std::unique_ptr<ServerThread>> threads) override;
  io::Op<> tick() override;
  // Delegations.
  io::Op<> take_back(std::string export_path, base::Duration patience) override;
  io::Op<> close() override;
  void calls_ended() override;
  void describe(std::vector<admin::AdminCommand>& commands) override;
  void report(nlohmann::json& members) const override;

 private:
  NfsRole(const Shared& shared, const config::Config& config, std::unique_ptr<nfs4::Nfs4Engine> nfs4,
          Capabilities capabilities);

  const vfs::Exports& exports_;
  const Capabilities capabilities_;
  const Listen listen_;
  nfs3::Nfs3Service nfs3_;
  nfs3::mount::MountService mount_;
  const std::unique_ptr<nfs4::Nfs4Engine> nfs4_;
  const std::vector<rpc::Program> programs_;  // of NFS
  const std::vector<rpc::Program> served_;    // and of the capabilities
  rpc::Server rpc_;
};

}  // namespace braid::server::roles::nfs
