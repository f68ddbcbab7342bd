// What a server serves: RPC programs with their state, on addresses of their own. A server has one role or
// several; the same threads serve them all, and each connection reaches the programs of its role only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "io/blocking_pool.h"
#include "io/op.h"
#include "io/slab.h"
#include "rpc/program.h"
#include "rpc/server.h"
#include "server/admin/admin_command.h"
#include "server/config/config.h"
#include "server/listening.h"
#include "server/server_thread.h"
#include "vfs/export.h"

namespace braid::vfs::posix {
class WriteBacks;
}

namespace braid::server {

// What the roles of a server share, and a role's part of it; what is referred to outlives the role.
struct Shared {
  const base::Clock& clock;
  io::BlockingPool& pool;
  io::SlabPool& slabs;
  const vfs::Exports& exports;
  std::shared_ptr<vfs::posix::WriteBacks> write_backs;
  base::MetricRegistry& metrics;   // the series that a role registers carry its label
  std::string state_dir;           // exists
  std::size_t open_files_max = 0;  // descriptors for files in use, of all roles
  std::size_t callbacks_max = 0;   // connections to clients, of the role that serves exports
  rpc::ServerOptions rpc;          // what the role's calls may take: its share of the server's memory
};

// Used by the control thread, except where noted. Made by a RoleMaker; start() once, then close() before the
// server's threads end.
class Role {
 public:
  virtual ~Role() = default;
  // The role's own; both live as long as the role. The programs are those that rpcbind is told of.
  [[nodiscard]] virtual rpc::Server& rpc() = 0;
  [[nodiscard]] virtual std::span<const rpc::Program> programs() const = 0;
  [[nodiscard]] virtual Listen listen() const = 0;
  // Where it listens, and where the server's first role does; after listen() and before start(). At least one
  // address each.
  virtual void reached_at(const std::vector<rpc::PeerAddress>& addresses,
                          const std::vector<rpc::PeerAddress>& first) {
    (void)addresses;
    (void)first;
  }
  // The threads run, at least one, and nobody is served yet.
  virtual void start(std::span<const std::unique_ptr<ServerThread>> threads) = 0;
  // After start(): it is served at its addresses; by RDMA, too, if there is a port.
  virtual void served(std::optional<std::uint16_t> rdma_port) { (void)rdma_port; }
  // About once a second, on the control thread's reactor.
  virtual io::Op<> tick() = 0;
  // Before the export of this path is suspended: asks clients for what they can give back, and waits for
  // that, for `patience` at most. On the control thread's reactor.
  virtual io::Op<> take_back(std::string /*export_path*/, base::Duration /*patience*/) { co_return; }
  // On the first thread, when no more connections are accepted: ends what the role does of its own accord.
  // Calls may still run afterwards; nothing may go on that outlives them.
  virtual io::Op<> close() = 0;
  // After close(), when all calls have ended: what is to be kept for the next run. May block.
  virtual void calls_ended() {}
  // Adds the role's commands to those of the admin socket. They are run on the control thread's reactor.
  virtual void describe(std::vector<admin::AdminCommand>& commands) = 0;
  // Adds the role's own members to the report of `braid status`, a JSON object.
  virtual void report(nlohmann::json& members) const = 0;
  // What keeps the role from its work for good, in a sentence for the user: the server is to end. Empty, as a
  // rule.
  [[nodiscard]] virtual std::string failure() const { return {}; }
};

// How a role comes to be. The error is a sentence for the user.
struct RoleMaker {
  std::string label;  // names the role in metrics and reports; empty for the first role, and only there
  std::function<std::expected<std::unique_ptr<Role>, std::string>(const Shared& shared,
                                                                  const config::Config& config)>
      make;
};

}  // namespace braid::server
