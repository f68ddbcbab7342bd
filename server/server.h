// A running server: what its roles share, and the roles, in the order of their dependence.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log_limiter.h"
#include "base/metrics.h"
#include "io/blocking_pool.h"
#include "io/pipe.h"
#include "io/slab.h"
#include "rpc/rpcbind.h"
#include "rpc/tcp_listener.h"
#include "rpc/tcp_worker.h"
#include "server/config/config.h"
#include "server/export_set.h"
#include "server/listening.h"
#include "server/process.h"
#include "server/rdma_service.h"
#include "server/role.h"
#include "server/server_thread.h"

namespace braid::server {

// create(), then start(), then stop(). Used by the control thread only.
class Server {
 public:
  // Opens the exports, the roles and the listening sockets; starts no thread and serves nobody yet. There is
  // one role at least, whose label is empty; those of the others differ. Errors, here and below, are
  // sentences for the user.
  static std::expected<std::unique_ptr<Server>, std::string> create(
      const config::Config& config, const DescriptorPlan& plan, const std::string& state_dir,
      const base::Clock& clock, const std::vector<RoleMaker>& roles, ContentSources contents = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Accepts connections from now on, and tells rpcbind if a role wants that (may then block for seconds).
  std::expected<void, std::string> start();
  // Takes no more connections, lets running calls end for at most `limit`, closes all connections. False if
  // calls hang in the file system: then this object cannot be destroyed, and the process has to end as it is.
  bool stop(base::Duration limit);

  // What has to be done every second, on the control thread's reactor.
  io::Op<> tick();

  // Role::failure() of the first role that has one.
  [[nodiscard]] std::string failure() const;

  // Threads that a server with this configuration starts.
  static unsigned threads_of(const config::Config& config);

  // A role, and what the server has made for it.
  struct HostedRole {
    HostedRole(std::string name, base::MetricRegistry& all);
    const std::string label;       // empty: the first one's
    base::MetricRegistry metrics;  // the role's part
    std::unique_ptr<Role> role;
    Listen listen;
    ListeningSockets listening;              // the sockets until start()
    std::optional<std::uint16_t> rdma_port;  // where it is served by RDMA; from start() on
  };
  // The first one is what the process is for: its port names the server.
  [[nodiscard]] const std::vector<std::unique_ptr<HostedRole>>& roles() const { return roles_; }

  [[nodiscard]] ExportSet& exports() { return exports_; }
  [[nodiscard]] const ExportSet& exports() const { return exports_; }
  [[nodiscard]] base::MetricRegistry& metrics() { return metrics_; }
  // Of the first role.
  [[nodiscard]] const std::vector<rpc::PeerAddress>& addresses() const {
    return roles_.front()->listening.addresses;
  }
  [[nodiscard]] std::uint16_t port() const { return addresses().front().port; }
  [[nodiscard]] const rpc::RpcbindOutcome& rpcbind() const { return rpcbind_; }

  // For reports.
  [[nodiscard]] const base::Clock& clock() const { return clock_; }
  [[nodiscard]] const io::SlabPool& slabs() const { return slabs_; }
  [[nodiscard]] const io::BlockingPool& pool() const { return pool_; }
  [[nodiscard]] const std::vector<std::unique_ptr<ServerThread>>& threads() const { return threads_; }
  [[nodiscard]] std::size_t connections() const;
  // Null: RDMA is off, or not to be had, or not for the first role that wants it; then why. Both from start()
  // on.
  [[nodiscard]] const RdmaService* rdma() const { return rdma_refusal_.empty() ? rdma_.get() : nullptr; }
  [[nodiscard]] const std::string& rdma_refusal() const { return rdma_refusal_; }

 private:
  Server(const config::Config& config, const DescriptorPlan& plan, vfs::ExportRegistry registry,
         const base::Clock& clock, ContentSources contents);
  std::expected<void, std::string> open_roles(const std::vector<RoleMaker>& makers,
                                              const std::string& state_dir);
  std::expected<void, std::string> open_listeners();
  std::expected<void, std::string> start_threads();
  void make_listeners();
  io::Op<> accept_on_all();
  void start_rdma();
  std::expected<void, std::string> open_rdma();
  io::Op<> tick_roles();
  // Tells of what it refuses, and makes the series of exports that are new.
  void look_at_pool();
  void register_share(const std::string& name);
  // Tells rpcbind of the programs, and takes it back.
  void announce();
  void withdraw();

  const DescriptorPlan plan_;
  const unsigned thread_count_;
  const rpc::TcpOptions tcp_options_;
  const config::Config config_;
  base::MetricRegistry metrics_;
  io::SlabPool slabs_;
  io::BlockingPool pool_;
  std::set<std::string> shares_;  // of the pool, that have series
  base::LogLimiter refused_jobs_;
  io::PipePool pipes_;
  ExportSet exports_;
  rpc::TcpMetrics tcp_metrics_;
  const base::Clock& clock_;
  std::vector<std::unique_ptr<HostedRole>> roles_;
  std::optional<rpc::ConnectionLimit> connection_limit_;  // from start() on; outlives the connections
  std::unique_ptr<RdmaService> rdma_;
  std::string rdma_refusal_;
  std::vector<std::unique_ptr<ServerThread>> threads_;
  std::vector<std::unique_ptr<rpc::TcpListener>> listeners_;  // one per role, from start() on
  rpc::RpcbindOutcome rpcbind_;
};

}  // namespace braid::server
