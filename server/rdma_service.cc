#include "server/rdma_service.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "rdma/ibverbs/provider.h"
#include "server/config/endpoint.h"
#include "server/rdma_memory.h"

namespace braid::server {
namespace {

std::string device_error(base::Errno error) {
  switch (base::number_of(error)) {
    case ENODEV:
    case ENOENT:
      return "this host has no RDMA device; see `rdma link`, or load the driver (rdma_rxe for Soft-RoCE)";
    case EACCES:
    case EPERM:
      return "RDMA devices are there, but may not be used (/dev/infiniband)";
    case ENOTSUP:
      return "the RDMA devices of this host are iWARP, which is not supported: InfiniBand or RoCE is needed";
    default:
      return fmt::format("RDMA devices cannot be used: {}", base::message_of(error));
  }
}

rdma::RdmaOptions options_of(const config::Config& config) {
  constexpr std::uint64_t header_bytes_max = 64 * base::KiB;
  constexpr base::Duration never = std::chrono::hours(24 * 3650);
  rdma::RdmaOptions options;
  options.credits = config.rdma.credits;
  options.inline_bytes = static_cast<std::uint32_t>(config.rdma.inline_bytes_max);
  options.message_bytes_max = config.limits.payload_bytes_max + header_bytes_max;
  options.idle_limit =
      config.limits.idle_seconds == 0 ? never : std::chrono::seconds(config.limits.idle_seconds);
  return options;
}

}  // namespace

std::expected<std::unique_ptr<RdmaService>, std::string> RdmaService::create(const config::Config& config,
                                                                             io::SlabPool& slabs,
                                                                             base::MetricRegistry& metrics,
                                                                             rpc::ConnectionLimit& limit) {
  auto provider = rdma::ibverbs::IbProvider::create();
  if (!provider) return std::unexpected(device_error(provider.error()));
  const std::uint64_t pinned =
      pinned_bytes(config.limits.buffer_bytes_max, (*provider)->devices().size(), config.rdma.registration);
  if (auto allowed = check_pinned(pinned, pinned_bytes_max()); !allowed)
    return std::unexpected(std::move(allowed.error()));
  return std::unique_ptr<RdmaService>(new RdmaService(std::move(*provider), config, slabs, metrics, limit));
}

RdmaService::RdmaService(std::unique_ptr<rdma::Provider> provider, const config::Config& config,
                         io::SlabPool& slabs, base::MetricRegistry& metrics, rpc::ConnectionLimit& limit)
    : provider_(std::move(provider)),
      metrics_(metrics),
      maps_(slabs, config.rdma.registration, metrics_.registration),
      options_(options_of(config)),
      limit_(limit) {
  metrics.gauge("braid_rdma_connections", "Open connections of RDMA", {},
                [this] { return static_cast<double>(connections()); });
  metrics.gauge("braid_rdma_registered_bytes", "Memory that RDMA devices know for good", {},
                [this] { return static_cast<double>(maps_.bytes_registered()); });
}

RdmaService::~RdmaService() = default;

std::expected<void, std::string> RdmaService::start(std::span<const std::unique_ptr<ServerThread>> threads) {
  if (auto registered = register_with(provider_->devices(), maps_); !registered) return registered;
  for (const auto& thread : threads) {
    const auto error = thread->start_rdma({*provider_, maps_, metrics_, options_}).get();
    if (error) return std::unexpected(device_error(*error));
    threads_.push_back(thread.get());
  }
  threads_.front()->run([&] { return watch_devices(); }).get();
  return {};
}

std::expected<void, std::string> RdmaService::listen(std::size_t role,
                                                     const std::vector<rpc::PeerAddress>& addresses,
                                                     std::uint16_t port) {
  std::vector<rdma::Admission::Target> targets;
  targets.reserve(threads_.size());
  for (ServerThread* thread : threads_) targets.push_back(thread->rdma_target(role));
  rdma::Admission& admission = admissions_.emplace_back(std::move(targets), limit_, metrics_);
  const auto error = threads_.front()->run([&] { return listen_on(addresses, port, admission); }).get();
  if (!error) {
    if (port_ == 0) port_ = port;
    return {};
  }
  if (*error == base::errno_of(EADDRINUSE))
    return std::unexpected(fmt::format("RDMA port {} is in use already; give another one with --rdma", port));
  return std::unexpected(
      fmt::format("no RDMA device listens on port {}: {}", port, base::message_of(*error)));
}

io::Op<std::optional<base::Errno>> RdmaService::listen_on(const std::vector<rpc::PeerAddress>& addresses,
                                                          std::uint16_t port, rdma::Admission& admission) {
  std::optional<base::Errno> refused;
  bool listens = false;
  for (rpc::PeerAddress address : addresses) {
    address.port = port;
    auto listener = threads_.front()->verbs().listen(address, admission);
    if (listener) {
      listeners_.push_back(std::move(*listener));
      listens = true;
      continue;
    }
    refused = listener.error();
    base::log_event(base::Level::warning, "rdma_address_skipped", "address={} error=\"{}\"", address.text(),
                    base::message_of(*refused));
  }
  return listens ? std::nullopt : refused;
}

void RdmaService::stop() {
  if (!threads_.empty()) threads_.front()->run([this] { return end_listening(); }).get();
}

// Without it the server knows no less than its connections tell.
io::Op<> RdmaService::watch_devices() {
  auto watch = provider_->watch(threads_.front()->reactor(), device_log_);
  if (watch)
    watch_ = std::move(*watch);
  else
    base::log_event(base::Level::warning, "rdma_devices_not_watched", "error=\"{}\"",
                    base::message_of(watch.error()));
  return io::ready_op();
}

io::Op<> RdmaService::end_listening() {
  listeners_.clear();
  if (!watch_) co_return;
  co_await watch_->close();
  watch_.reset();
}

std::size_t RdmaService::connections() const {
  std::size_t sum = 0;
  for (const ServerThread* thread : threads_) sum += thread->rdma_connections();
  return sum;
}

}  // namespace braid::server
