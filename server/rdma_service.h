// RPC over RDMA of a server: its devices, its listeners, and the server threads that take the connections.
// Where there is no RDMA the server goes on without it and says why.
#pragma once

#include <cstdint>
#include <deque>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "io/slab.h"
#include "rdma/admission.h"
#include "rdma/device_log.h"
#include "rdma/options.h"
#include "rdma/registration.h"
#include "rdma/verbs.h"
#include "rpc/call.h"
#include "rpc/connection_limit.h"
#include "server/config/config.h"
#include "server/server_thread.h"

namespace braid::server {

// Used by the control thread. One for all roles: they share devices and memory, and have a port each. stop()
// before the threads are drained; destroyed after that.
class RdmaService final {
 public:
  // Errors, here and below, are sentences for the user.
  static std::expected<std::unique_ptr<RdmaService>, std::string> create(const config::Config& config,
                                                                         io::SlabPool& slabs,
                                                                         base::MetricRegistry& metrics,
                                                                         rpc::ConnectionLimit& limit);
  ~RdmaService();
  RdmaService(const RdmaService&) = delete;
  RdmaService& operator=(const RdmaService&) = delete;

  // Gives the threads the devices; once, before the rest. After an error nothing but stop().
  std::expected<void, std::string> start(std::span<const std::unique_ptr<ServerThread>> threads);
  // Every thread takes connections to this role from now on, and the first one listens on those of the
  // addresses that a device has, at this port. Fails if there is none. Once for a role.
  std::expected<void, std::string> listen(std::size_t role, const std::vector<rpc::PeerAddress>& addresses,
                                          std::uint16_t port);
  // Takes no more connections.
  void stop();

  [[nodiscard]] std::vector<rdma::Device*> devices() const { return provider_->devices(); }
  [[nodiscard]] std::size_t connections() const;
  // Of the first role that listens.
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] const rdma::RdmaOptions& options() const { return options_; }
  [[nodiscard]] std::uint64_t bytes_registered() const { return maps_.bytes_registered(); }
  [[nodiscard]] rdma::Registration registration() const { return maps_.strategy(); }

 private:
  RdmaService(std::unique_ptr<rdma::Provider> provider, const config::Config& config, io::SlabPool& slabs,
              base::MetricRegistry& metrics, rpc::ConnectionLimit& limit);
  // Why no address could be listened on, or nothing.
  io::Op<std::optional<base::Errno>> listen_on(const std::vector<rpc::PeerAddress>& addresses,
                                               std::uint16_t port, rdma::Admission& admission);
  io::Op<> watch_devices();
  io::Op<> end_listening();

  std::unique_ptr<rdma::Provider> provider_;
  rdma::RdmaMetrics metrics_;
  rdma::DeviceLog device_log_{metrics_};
  rdma::MemoryMaps maps_;
  std::uint16_t port_ = 0;
  const rdma::RdmaOptions options_;
  rpc::ConnectionLimit& limit_;  // with those of TCP
  std::vector<ServerThread*> threads_;
  std::deque<rdma::Admission> admissions_;  // of each role that listens
  // Of the first thread.
  std::vector<std::unique_ptr<rdma::Listener>> listeners_;
  std::unique_ptr<rdma::DeviceWatch> watch_;
};

}  // namespace braid::server
