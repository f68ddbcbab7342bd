#include "server/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <ranges>
#include <thread>
#include <utility>

#include "base/assert.h"
#include "base/log.h"

namespace braid::server {
namespace {

// A role's share of what calls may take.
rpc::ServerOptions rpc_options(const config::Limits& limits, std::size_t roles, bool takes_pipes) {
  constexpr std::size_t entry_bytes = 512;  // an entry with a typical reply
  rpc::ServerOptions options;
  options.connection_bytes_max = limits.connection_bytes_max;
  // Slabs are held whole by ranges that fill them in part: half of the pool is for that.
  options.bytes_max = limits.buffer_bytes_max / 2 / roles;
  options.replay.bytes_max = limits.replay_cache_bytes_max / roles;
  options.replay.entries_max = options.replay.bytes_max / entry_bytes;
  options.piped_arguments = takes_pipes;
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

}  // namespace

Server::HostedRole::HostedRole(std::string name, base::MetricRegistry& all)
    : label(std::move(name)), metrics(all, label.empty() ? "" : fmt::format(R"(role="{}")", label)) {}

std::expected<std::unique_ptr<Server>, std::string> Server::create(
    const config::Config& config, const DescriptorPlan& plan, const std::string& state_dir,
    const base::Clock& clock, const std::vector<RoleMaker>& roles, ContentSources contents) {
  auto registry = vfs::ExportRegistry::open(state_dir);
  if (!registry)
    return std::unexpected(fmt::format("cannot use the state directory {}: {}; give another one with --state",
                                       state_dir, base::message_of(registry.error())));
  std::unique_ptr<Server> server(new Server(config, plan, std::move(*registry), clock, std::move(contents)));
  if (auto done = server->exports_.apply(config.exports); !done)
    return std::unexpected(std::move(done.error()));
  if (auto done = server->open_roles(roles, state_dir); !done)
    return std::unexpected(std::move(done.error()));
  if (auto done = server->open_listeners(); !done) return std::unexpected(std::move(done.error()));
  return server;
}

Server::Server(const config::Config& config, const DescriptorPlan& plan, vfs::ExportRegistry registry,
               const base::Clock& clock, ContentSources contents)
    : plan_(plan),
      thread_count_(threads_of(config)),
      tcp_options_(tcp_options(config.limits)),
      config_(config),
      slabs_({.bytes_max = config.limits.buffer_bytes_max, .huge_pages = true}),
      pool_({.threads_max = config.limits.blocking_threads_max, .queue_max = 4096, .idle_seconds = 10}),
      pipes_(plan.pipes_max),
      exports_({clock, pool_, slabs_, plan.open_files_max, std::move(contents)}, std::move(registry)),
      tcp_metrics_(metrics_),
      clock_(clock) {}

std::expected<void, std::string> Server::open_roles(const std::vector<RoleMaker>& makers,
                                                    const std::string& state_dir) {
  base::check(!makers.empty(), "a server has a role");
  for (const RoleMaker& maker : makers) {
    base::check(maker.label.empty() == roles_.empty() &&
                    std::ranges::find(roles_, maker.label, &HostedRole::label) == roles_.end(),
                "the first role has no label, and the others have labels that differ");
    auto hosted = std::make_unique<HostedRole>(maker.label, metrics_);
    auto role = maker.make({.clock = clock_,
                            .pool = pool_,
                            .slabs = slabs_,
                            .exports = exports_.table(),
                            .write_backs = exports_.write_backs(),
                            .metrics = hosted->metrics,
                            .state_dir = state_dir,
                            .open_files_max = plan_.open_files_max,
                            .callbacks_max = plan_.callbacks_max,
                            .rpc = rpc_options(config_.limits, makers.size(), exports_.takes_pipes())},
                           config_);
    if (!role) return std::unexpected(std::move(role.error()));
    hosted->role = std::move(*role);
    hosted->listen = hosted->role->listen();
    roles_.push_back(std::move(hosted));
  }
  return {};
}

std::expected<void, std::string> Server::open_listeners() {
  for (const auto& hosted : roles_) {
    auto opened = open_sockets(hosted->listen);
    if (!opened) return std::unexpected(std::move(opened.error()));
    hosted->listening = std::move(*opened);
    hosted->role->reached_at(hosted->listening.addresses, addresses());
  }
  return {};
}

io::Op<> Server::tick() {
  exports_.sweep();
  look_at_pool();
  return tick_roles();
}

void Server::look_at_pool() {
  const io::BlockingPoolStats stats = pool_.stats();
  for (const io::FairQueue::GroupStats& group : stats.groups)
    if (shares_.insert(group.name).second) register_share(group.name);
  const std::uint64_t refused = refused_jobs_.news(stats.refused, clock_.now());
  if (refused == 0) return;
  const auto longest = std::ranges::max_element(stats.groups, {}, &io::FairQueue::GroupStats::queued);
  base::log_event(
      base::Level::warning, "jobs_refused",
      "count={}: too many of a client wait for threads (blocking_threads_max); {} wait, {} of them for {}, "
      "where {} run",
      refused, stats.queued, longest->queued, longest->name, longest->running);
}

// They stay when the export goes.
void Server::register_share(const std::string& name) {
  using Share = io::FairQueue::GroupStats;
  const std::string label = fmt::format("export=\"{}\"", base::escaped_label(name));
  const auto series = [&](std::string_view metric, std::string_view help, auto value) {
    metrics_.gauge(metric, help, label, [this, name, value] {
      const io::BlockingPoolStats stats = pool_.stats();
      const auto share = std::ranges::find(stats.groups, name, &Share::name);
      return share == stats.groups.end() ? 0.0 : static_cast<double>((*share).*value);
    });
  };
  series("braid_blocking_export_queued", "Jobs that wait for a thread, by export", &Share::queued);
  series("braid_blocking_export_running", "Threads of the blocking pool that an export has", &Share::running);
  series("braid_blocking_export_refused", "Jobs refused, since the export was opened", &Share::refused);
}

std::string Server::failure() const {
  for (const auto& hosted : roles_)
    if (std::string why = hosted->role->failure(); !why.empty()) return why;
  return {};
}

// What one role cannot do now keeps no other from doing it.
io::Op<> Server::tick_roles() {
  for (const auto& hosted : roles_) (void)co_await hosted->role->tick().as_result();
}

unsigned Server::threads_of(const config::Config& config) {
  return config.threads != 0 ? config.threads : std::max(1u, std::thread::hardware_concurrency());
}

Server::~Server() {
  for (const auto& thread : threads_) thread->end();
}

std::expected<void, std::string> Server::start_threads() {
  std::vector<rpc::Server*> servers;
  servers.reserve(roles_.size());
  for (const auto& hosted : roles_) servers.push_back(&hosted->role->rpc());
  const ServerThreadResources resources{clock_, slabs_, pipes_, servers, tcp_metrics_, tcp_options_};
  for (unsigned i = 0; i < thread_count_; ++i) {
    auto thread = ServerThread::create(resources);
    if (!thread)
      return std::unexpected(
          fmt::format("io_uring is not available here ({}); it needs Linux 5.19 or later, and "
                      "containers must allow it",
                      base::message_of(thread.error())));
    threads_.push_back(std::move(*thread));
  }
  return {};
}

void Server::make_listeners() {
  std::vector<rpc::TcpWorker*> workers;
  workers.reserve(threads_.size());
  for (const auto& thread : threads_) workers.push_back(&thread->tcp());
  // One of all roles.
  connection_limit_.emplace(
      plan_.connections_max, std::move(workers), [this] { return connections(); }, clock_, metrics_);
  for (std::size_t role = 0; role < roles_.size(); ++role) {
    std::vector<rpc::TcpListener::Target> targets;
    targets.reserve(threads_.size());
    for (const auto& thread : threads_) targets.push_back(thread->target(role));
    listeners_.push_back(std::make_unique<rpc::TcpListener>(threads_.front()->reactor(), std::move(targets),
                                                            *connection_limit_, rpc::TcpListenerOptions{},
                                                            tcp_metrics_));
  }
}

std::expected<void, std::string> Server::start() {
  if (auto done = start_threads(); !done) return done;
  for (const auto& hosted : roles_) hosted->role->start(threads_);
  make_listeners();
  start_rdma();  // before TCP: whoever is answered there finds RDMA too
  threads_.front()->run([this] { return accept_on_all(); }).get();
  for (const auto& hosted : roles_) hosted->role->served(hosted->rdma_port);
  announce();
  return {};
}

void Server::announce() {
  for (const auto& hosted : roles_) {
    if (!hosted->listen.rpcbind) continue;
    const rpc::RpcbindOutcome outcome = rpc::register_with_rpcbind(
        hosted->role->programs(), hosted->listening.addresses.front().port, hosted->rdma_port);
    rpcbind_.present = rpcbind_.present || outcome.present;
    rpcbind_.accepted += outcome.accepted;
    rpcbind_.refused += outcome.refused;
  }
  if (rpcbind_.refused > 0)
    base::log_event(base::Level::warning, "rpcbind_refused", "announcements={} accepted={}", rpcbind_.refused,
                    rpcbind_.accepted);
}

void Server::withdraw() {
  if (rpcbind_.accepted == 0) return;
  for (const auto& hosted : roles_)
    if (hosted->listen.rpcbind) (void)rpc::unregister_with_rpcbind(hosted->role->programs());
}

// TCP goes on without it.
void Server::start_rdma() {
  if (std::ranges::none_of(roles_, [](const auto& hosted) { return hosted->listen.rdma.has_value(); }))
    return;
  const std::expected<void, std::string> there = open_rdma();
  bool first = true;
  for (std::size_t role = 0; role < roles_.size(); ++role) {
    HostedRole& hosted = *roles_[role];
    if (!hosted.listen.rdma) continue;
    const auto listens = there ? rdma_->listen(role, hosted.listening.addresses, *hosted.listen.rdma) : there;
    if (listens)
      hosted.rdma_port = hosted.listen.rdma;
    else
      base::log_event(base::Level::warning, "rdma_off", "port={} reason=\"{}\"", *hosted.listen.rdma,
                      listens.error());
    if (std::exchange(first, false) && !listens) rdma_refusal_ = listens.error();
  }
}

std::expected<void, std::string> Server::open_rdma() {
  auto service = RdmaService::create(config_, slabs_, metrics_, *connection_limit_);
  if (!service) return std::unexpected(std::move(service.error()));
  rdma_ = std::move(*service);
  return rdma_->start(threads_);
}

// On the first thread, whose the listeners are.
io::Op<> Server::accept_on_all() {
  for (std::size_t role = 0; role < roles_.size(); ++role)
    for (base::UniqueFd& socket : std::exchange(roles_[role]->listening.sockets, {}))
      listeners_[role]->accept_on(std::move(socket));
  return io::ready_op();
}

bool Server::stop(base::Duration limit) {
  withdraw();
  ServerThread& first = *threads_.front();
  for (const auto& listener : listeners_) first.run([&listener] { return listener->stop(); }).get();
  if (rdma_) rdma_->stop();
  for (const auto& hosted : std::views::reverse(roles_))
    first.run([&hosted] { return hosted->role->close(); }).get();
  std::vector<std::future<bool>> drains;
  drains.reserve(threads_.size());
  for (const auto& thread : threads_) drains.push_back(thread->drain(limit));
  bool ended = true;
  for (std::future<bool>& drain : drains) ended = drain.get() && ended;
  if (!ended) return false;
  pool_.stop();
  for (const auto& hosted : roles_) hosted->role->calls_ended();
  return true;
}

std::size_t Server::connections() const {
  std::size_t sum = 0;
  for (const auto& thread : threads_) sum += thread->connections();
  return sum;
}

}  // namespace braid::server
