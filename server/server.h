// A running server: the objects behind it, in the order of their dependence.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "io/blocking_pool.h"
#include "io/pipe.h"
#include "io/slab.h"
#include "nfs3/mount/service.h"
#include "nfs3/service.h"
#include "nfs4/engine.h"
#include "rpc/rpcbind.h"
#include "rpc/server.h"
#include "rpc/tcp_listener.h"
#include "server/config/config.h"
#include "server/export_set.h"
#include "server/lane.h"
#include "server/process.h"
#include "server/rdma_service.h"

namespace braid::server {

// create(), then start(), then stop(). Used by the control thread only.
class Server {
 public:
  // Opens the exports and the listening sockets; starts no thread and serves nobody yet. Errors, here and
  // below, are sentences for the user.
  static std::expected<std::unique_ptr<Server>, std::string> create(const config::Config& config,
                                                                    const DescriptorPlan& plan,
                                                                    const std::string& state_dir,
                                                                    const base::Clock& clock);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Accepts connections from now on, and tells rpcbind if the configuration wants that (may then block for
  // seconds).
  std::expected<void, std::string> start();
  // Takes no more connections, lets running calls end for at most `limit`, closes all connections. False if
  // calls hang in the file system: then this object cannot be destroyed, and the process has to end as it is.
  bool stop(base::Duration limit);

  // What has to be done every second, on the control thread's reactor.
  io::Op<> tick();

  // Threads that a server with this configuration starts.
  static unsigned threads_of(const config::Config& config);

  [[nodiscard]] ExportSet& exports() { return exports_; }
  [[nodiscard]] const ExportSet& exports() const { return exports_; }
  [[nodiscard]] base::MetricRegistry& metrics() { return metrics_; }
  [[nodiscard]] const std::vector<rpc::PeerAddress>& addresses() const { return addresses_; }
  [[nodiscard]] std::uint16_t port() const { return addresses_.front().port; }
  [[nodiscard]] const rpc::RpcbindOutcome& rpcbind() const { return rpcbind_; }

  // For reports.
  [[nodiscard]] rpc::Server& rpc() { return *rpc_; }
  [[nodiscard]] nfs4::Nfs4Engine& nfs4() { return *nfs4_; }
  [[nodiscard]] const io::SlabPool& slabs() const { return slabs_; }
  [[nodiscard]] const io::BlockingPool& pool() const { return pool_; }
  [[nodiscard]] const std::vector<std::unique_ptr<Lane>>& lanes() const { return lanes_; }
  [[nodiscard]] std::size_t connections() const;
  // Null: RDMA is off, or not to be had; then why. Both from start() on.
  [[nodiscard]] const RdmaService* rdma() const { return rdma_refusal_.empty() ? rdma_.get() : nullptr; }
  [[nodiscard]] const std::string& rdma_refusal() const { return rdma_refusal_; }

 private:
  Server(const config::Config& config, const DescriptorPlan& plan, vfs::ExportRegistry registry,
         const base::Clock& clock);
  std::expected<void, std::string> open_protocols(const config::Config& config, const DescriptorPlan& plan,
                                                  const std::string& state_dir);
  std::expected<void, std::string> open_listeners(const config::Config& config);
  std::expected<void, std::string> start_lanes();
  io::Op<> accept_on_all();
  void start_rdma();
  // Tells rpcbind of the programs.
  void announce();

  const bool announces_;  // to rpcbind
  const std::size_t connections_max_;
  const unsigned threads_;
  const rpc::TcpOptions tcp_options_;
  const config::Config config_;
  base::MetricRegistry metrics_;
  io::SlabPool slabs_;
  io::BlockingPool pool_;
  io::PipePool pipes_;
  ExportSet exports_;
  nfs3::Nfs3Service nfs_;
  nfs3::mount::MountService mount_;
  // These three from open_protocols() on.
  std::unique_ptr<nfs4::Nfs4Engine> nfs4_;
  std::vector<rpc::Program> programs_;
  std::optional<rpc::Server> rpc_;
  rpc::TcpMetrics tcp_metrics_;
  const base::Clock& clock_;
  std::unique_ptr<RdmaService> rdma_;
  std::string rdma_refusal_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<base::UniqueFd> sockets_;  // until start()
  std::vector<rpc::PeerAddress> addresses_;
  std::unique_ptr<rpc::TcpListener> listener_;
  rpc::RpcbindOutcome rpcbind_;
};

}  // namespace braid::server
