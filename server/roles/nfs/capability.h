// What a folder of its own adds to serving the exports by NFS: operations and kinds of state, RPC programs on
// the same port, contents of files.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "io/op.h"
#include "nfs4/engine.h"
#include "nfs4/engine_parts.h"
#include "rpc/program.h"
#include "server/admin/admin_command.h"
#include "server/config/config.h"
#include "server/role.h"
#include "server/server_thread.h"
#include "vfs/content.h"
#include "vfs/export.h"

namespace braid::server::roles::nfs {

// Made before the server and outlives it. Used by the control thread, except where noted. join(), then
// start(), then close() before the server's threads end.
class Capability {
 public:
  virtual ~Capability() = default;

  // Those of one export; asked when it is opened, before join(), and at a reload.
  virtual std::vector<vfs::ContentSource*> sources(const config::ExportConfig& config) = 0;
  // Whether all of them take pipes. The same, always.
  [[nodiscard]] virtual bool takes_pipes() const = 0;

  // The role is being made. What is added to `parts` outlives the engine.
  virtual void join(const Shared& shared, nfs4::EngineParts& parts) = 0;
  // What the role's RPC server serves besides NFS; from join() on. rpcbind is not told of it.
  [[nodiscard]] virtual std::vector<rpc::Program> programs() = 0;
  // As those of Role.
  virtual void start(std::span<const std::unique_ptr<ServerThread>> threads, nfs4::Nfs4Engine& engine) = 0;
  virtual io::Op<> tick() = 0;
  // Before this export is suspended: asks clients for what they have of it beside delegations, opens and
  // locks. Whether they still have any; to be asked again until then.
  virtual io::Op<bool> take_back(vfs::ExportId /*from*/) { co_return false; }
  virtual io::Op<> close() = 0;
  virtual void describe(std::vector<admin::AdminCommand>& commands) { (void)commands; }
  virtual void report(nlohmann::json& members) const { (void)members; }
};
using Capabilities = std::vector<std::shared_ptr<Capability>>;

}  // namespace braid::server::roles::nfs
