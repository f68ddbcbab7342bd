#include "server/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <future>
#include <thread>
#include <utility>

#include "base/log.h"
#include "rpc/socket_address.h"
#include "server/config/endpoint.h"
#include "server/roles/nfs/nfs4_options.h"

namespace braid::server {
namespace {

constexpr std::uint16_t nfs_port = 2049;

nfs3::Nfs3Options nfs3_options(const config::Limits& limits) {
  const auto payload = static_cast<std::uint32_t>(limits.payload_bytes_max);
  return {.read_bytes_max = payload, .write_bytes_max = payload};
}

rpc::ServerOptions rpc_options(const config::Limits& limits) {
  constexpr std::size_t entry_bytes = 512;  // an entry with a typical reply
  rpc::ServerOptions options;
  options.connection_bytes_max = limits.connection_bytes_max;
  // Slabs are held whole by ranges that fill them in part: half of the pool is for that.
  options.bytes_max = limits.buffer_bytes_max / 2;
  options.replay.bytes_max = limits.replay_cache_bytes_max;
  options.replay.entries_max = limits.replay_cache_bytes_max / entry_bytes;
  return options;
}

rpc::TcpOptions tcp_options(const config::Limits& limits) {
  constexpr std::size_t header_bytes_max = 64 * base::KiB;
  constexpr base::Duration never = std::chrono::hours(24 * 3650);
  rpc::TcpOptions options;
  options.record_bytes_max = limits.payload_bytes_max + header_bytes_max;
  options.idle_limit = limits.idle_seconds == 0 ? never : std::chrono::seconds(limits.idle_seconds);
  return options;
}

std::string listen_error(const rpc::PeerAddress& address, base::Errno error) {
  switch (base::number_of(error)) {
    case EADDRINUSE:
      return fmt::format(
          "port {} is in use already, perhaps by another NFS server; give another one with --port",
          address.port);
    case EADDRNOTAVAIL:
      return fmt::format("{} is not an address of this host", config::host_text(address));
    case EACCES:
      return fmt::format("port {} is reserved to root; give one above 1023 with --port", address.port);
    default:
      return fmt::format("cannot listen on {}: {}", address.text(), base::message_of(error));
  }
}

std::string other_server(const std::string& state_dir) {
  const auto process = nfs4::Nfs4Engine::user_of(state_dir);
  return process ? fmt::format("another server (process {})", *process) : "another server";
}

// These signals are held back until somebody attends to them.
bool told_to_end() {
  sigset_t pending;
  ::sigemptyset(&pending);
  ::sigpending(&pending);
  return ::sigismember(&pending, SIGTERM) == 1 || ::sigismember(&pending, SIGINT) == 1;
}

// One socket on "::" takes IPv4 too; a system without IPv6 has only the other.
base::Result<base::UniqueFd> listen_on_all(std::uint16_t port) {
  auto socket = rpc::listen_on(*rpc::parse_address("::", port));
  if (!socket && socket.error() == base::errno_of(EAFNOSUPPORT))
    return rpc::listen_on(*rpc::parse_address("0.0.0.0", port));
  return socket;
}

}  // namespace

std::expected<std::unique_ptr<Server>, std::string> Server::create(const config::Config& config,
                                                                   const DescriptorPlan& plan,
                                                                   const std::string& state_dir,
                                                                   const base::Clock& clock) {
  auto registry = vfs::ExportRegistry::open(state_dir);
  if (!registry)
    return std::unexpected(fmt::format("cannot use the state directory {}: {}; give another one with --state",
                                       state_dir, base::message_of(registry.error())));
  std::unique_ptr<Server> server(new Server(config, plan, std::move(*registry), clock));
  if (auto done = server->exports_.apply(config.exports); !done)
    return std::unexpected(std::move(done.error()));
  if (auto done = server->open_protocols(config, plan, state_dir); !done)
    return std::unexpected(std::move(done.error()));
  if (auto done = server->open_listeners(config); !done) return std::unexpected(std::move(done.error()));
  return server;
}

Server::Server(const config::Config& config, const DescriptorPlan& plan, vfs::ExportRegistry registry,
               const base::Clock& clock)
    : announces_(config.rpcbind.value_or(config.port == nfs_port)),
      connections_max_(plan.connections_max),
      threads_(threads_of(config)),
      tcp_options_(tcp_options(config.limits)),
      config_(config),
      slabs_({.bytes_max = config.limits.buffer_bytes_max, .huge_pages = true}),
      pool_({.threads_max = config.limits.blocking_threads_max, .queue_max = 4096, .idle_seconds = 10}),
      pipes_(plan.pipes_max),
      exports_({clock, pool_, slabs_, plan.open_files_max}, std::move(registry)),
      nfs_(exports_.table(), nfs3_options(config.limits)),
      mount_(exports_.table()),
      tcp_metrics_(metrics_),
      clock_(clock) {}

std::expected<void, std::string> Server::open_protocols(const config::Config& config,
                                                        const DescriptorPlan& plan,
                                                        const std::string& state_dir) {
  const nfs4::EngineResources resources{clock_, exports_.table(), pool_, slabs_, metrics_};
  const auto open = [&] {
    return nfs4::Nfs4Engine::create(roles::nfs::nfs4_options(config, plan.open_files_max), resources,
                                    state_dir);
  };
  auto opened = open();
  // One that is about to end has that long to do so.
  const base::TimePoint patience = clock_.now() + std::chrono::seconds(config.limits.drain_seconds);
  const auto in_use = [&] { return !opened && opened.error() == base::errno_of(EBUSY); };
  if (in_use())
    base::log_event(base::Level::warning, "state_directory_in_use",
                    "{} uses the state directory {}; waiting up to {} s for its end", other_server(state_dir),
                    state_dir, config.limits.drain_seconds);
  while (in_use() && clock_.now() < patience && !told_to_end()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    opened = open();
  }
  if (!opened) {
    if (in_use())
      return std::unexpected(fmt::format("{} uses the state directory {}; give another one with --state",
                                         other_server(state_dir), state_dir));
    return std::unexpected(
        fmt::format("cannot keep the records of NFSv4 clients in the state directory {}: {}", state_dir,
                    base::message_of(opened.error())));
  }
  nfs4_ = std::move(*opened);
  programs_ = {nfs_.program(), mount_.program(), nfs4_->program()};
  rpc_.emplace(rpc_options(config.limits), programs_, metrics_, base::random_sip_key());
  return {};
}

io::Op<> Server::tick() {
  exports_.sweep();
  return nfs4_->tick();
}

unsigned Server::threads_of(const config::Config& config) {
  return config.threads != 0 ? config.threads : std::max(1u, std::thread::hardware_concurrency());
}

Server::~Server() {
  for (const auto& lane : lanes_) lane->end();
}

std::expected<void, std::string> Server::open_listeners(const config::Config& config) {
  std::vector<rpc::PeerAddress> wanted;
  wanted.reserve(config.listen.size());
  for (const std::string& text : config.listen) wanted.push_back(*rpc::parse_address(text, config.port));
  // "::" includes every IPv4 address.
  const bool all = wanted.empty() || std::ranges::any_of(wanted, [](const auto& a) {
                     return config::is_any(a) && !rpc::is_ipv4(a);
                   });
  if (all) wanted = {*rpc::parse_address("::", config.port)};
  for (rpc::PeerAddress address : wanted) {
    // With port 0 the system chooses once, for all addresses.
    if (!addresses_.empty()) address.port = addresses_.front().port;
    auto socket = all ? listen_on_all(address.port) : rpc::listen_on(address);
    if (!socket) return std::unexpected(listen_error(address, socket.error()));
    addresses_.push_back(rpc::local_of(socket->get()).value_or(address));
    sockets_.push_back(std::move(*socket));
  }
  return {};
}

std::expected<void, std::string> Server::start_lanes() {
  const LaneResources resources{clock_, slabs_, pipes_, *rpc_, tcp_metrics_, tcp_options_};
  for (unsigned i = 0; i < threads_; ++i) {
    auto lane = Lane::create(resources);
    if (!lane)
      return std::unexpected(
          fmt::format("io_uring is not available here ({}); it needs Linux 5.19 or later, and "
                      "containers must allow it",
                      base::message_of(lane.error())));
    lanes_.push_back(std::move(*lane));
  }
  return {};
}

std::expected<void, std::string> Server::start() {
  if (auto done = start_lanes(); !done) return done;
  nfs4_->start(lanes_.front()->reactor(), lanes_.front()->tcp());
  std::vector<rpc::TcpListener::Target> targets;
  targets.reserve(lanes_.size());
  for (const auto& lane : lanes_) targets.push_back(lane->target());
  listener_ = std::make_unique<rpc::TcpListener>(lanes_.front()->reactor(), std::move(targets),
                                                 rpc::TcpListenerOptions{.connections_max = connections_max_},
                                                 tcp_metrics_);
  start_rdma();  // before TCP: whoever is answered there finds RDMA too
  lanes_.front()->run([this] { return accept_on_all(); }).get();
  announce();
  return {};
}

void Server::announce() {
  if (!announces_) return;
  const RdmaService* service = rdma();
  rpcbind_ = rpc::register_with_rpcbind(programs_, port(),
                                        service != nullptr ? std::optional(service->port()) : std::nullopt);
  if (rpcbind_.refused > 0)
    base::log_event(base::Level::warning, "rpcbind_refused", "announcements={} accepted={}", rpcbind_.refused,
                    rpcbind_.accepted);
}

// TCP goes on without it.
void Server::start_rdma() {
  if (!config_.rdma.on) return;
  auto service = RdmaService::create(config_, slabs_, metrics_, connections_max_);
  if (service) {
    rdma_ = std::move(*service);
    auto started = rdma_->start(lanes_, addresses_);
    if (started) return;
    rdma_refusal_ = std::move(started.error());
  } else {
    rdma_refusal_ = std::move(service.error());
  }
  base::log_event(base::Level::warning, "rdma_off", "reason=\"{}\"", rdma_refusal_);
}

io::Op<> Server::accept_on_all() {
  for (base::UniqueFd& socket : sockets_) listener_->accept_on(std::move(socket));
  sockets_.clear();
  return io::ready_op();
}

bool Server::stop(base::Duration limit) {
  if (rpcbind_.accepted > 0) (void)rpc::unregister_with_rpcbind(programs_);
  lanes_.front()->run([this] { return listener_->stop(); }).get();
  if (rdma_) rdma_->stop();
  lanes_.front()->run([this] { return nfs4_->close(); }).get();
  std::vector<std::future<bool>> drains;
  drains.reserve(lanes_.size());
  for (const auto& lane : lanes_) drains.push_back(lane->drain(limit));
  bool ended = true;
  for (std::future<bool>& drain : drains) ended = drain.get() && ended;
  if (!ended) return false;
  pool_.stop();
  return true;
}

std::size_t Server::connections() const {
  std::size_t sum = 0;
  for (const auto& lane : lanes_) sum += lane->connections();
  return sum;
}

}  // namespace braid::server
