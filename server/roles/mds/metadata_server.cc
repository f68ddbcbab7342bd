#include "server/roles/mds/metadata_server.h"

#include <chrono>
#include <utility>

#include "base/log.h"
#include "nfs4/clients.h"
#include "nfs4/ops/state_access.h"
#include "pnfs_mds/layouts/layout_operations.h"
#include "server/control_path.h"
#include "server/process.h"
#include "server/roles/nfs/state_in_use.h"

namespace braid::server::roles::mds {
namespace {

// How often what nobody knows of is looked at: an export may be away for long.
constexpr std::uint64_t look_ticks = 60;

pnfs_mds::ClusterOptions options_of(const config::Config& config, const std::string& state_dir) {
  pnfs_mds::ClusterOptions options;
  options.state_dir = state_dir;
  options.secret_file = config.pnfs.secret;
  options.policy = config.pnfs.stripes;
  // A data server bars itself after half a lease; clocks do not run quite alike.
  const base::Duration half_lease = std::chrono::seconds(config.limits.lease_seconds) / 2;
  options.contact = half_lease;
  options.servers.patience = half_lease + half_lease / 8;
  options.servers.lost = std::chrono::seconds(config.pnfs.lost_seconds);
  return options;
}

void warn_of_small_unit(const pnfs_mds::StripePolicy& policy) {
  if (policy.unit >= base::MiB) return;
  base::log_event(base::Level::warning, "stripe_unit_small",
                  "stripe_unit={}: clients read and write in pieces of that size", policy.unit);
}

}  // namespace

std::expected<std::shared_ptr<MetadataServer>, std::string> MetadataServer::open(const config::Config& config,
                                                                                 const std::string& state_dir,
                                                                                 const base::Clock& clock) {
  if (!may_keep_trusted_attributes())
    return std::unexpected(
        "a pNFS cluster needs root (CAP_SYS_ADMIN): where a file lies is kept in an extended attribute "
        "trusted.*; start braid as root, or do without data servers");
  auto calls = std::make_unique<pnfs_mds::ControlCalls>();
  std::expected<std::unique_ptr<pnfs_mds::Cluster>, pnfs_mds::ClusterError> opened;
  nfs::while_in_use(clock, state_dir, config.limits.drain_seconds, [&] {
    opened = pnfs_mds::Cluster::open(options_of(config, state_dir), clock, *calls);
    return !opened && opened.error().in_use;
  });
  if (!opened)
    return std::unexpected(opened.error().in_use ? nfs::in_use_text(state_dir) : opened.error().text);
  warn_of_small_unit(config.pnfs.stripes);
  return std::shared_ptr<MetadataServer>(
      new MetadataServer(config.pnfs, std::move(calls), std::move(*opened), clock));
}

MetadataServer::MetadataServer(const config::PnfsConfig& config,
                               std::unique_ptr<pnfs_mds::ControlCalls> calls,
                               std::unique_ptr<pnfs_mds::Cluster> cluster, const base::Clock& clock)
    : control_transport_(config.control_transport),
      signs_bulk_(config.signs_bulk),
      calls_(std::move(calls)),
      cluster_(std::move(cluster)),
      layouts_(*cluster_, config.data_transport),
      control_(*cluster_),
      service_(
          clock, cluster_->secret(), [this] { return introduction(); }, control_),
      settler_(
          *cluster_, [this](vfs::FileHandle file) { return reach(file); },
          [this] { return gate_.closed(); }) {
  cluster_->removals().set_wake([this] { wake(); });
}

pnfs::Introduction MetadataServer::introduction() const {
  pnfs::Introduction own = pnfs_mds::introduction_of(*cluster_);
  own.signs_bulk = signs_bulk_;
  return own;
}

std::vector<vfs::ContentSource*> MetadataServer::sources(const config::ExportConfig& config) {
  if (config.data != config::Data::striped) return {};
  directories_.add(config.path, config.directory);
  return {&cluster_->source()};
}

void MetadataServer::join(const Shared& shared, nfs4::EngineParts& parts) {
  parts.operations.add(pnfs_mds::layouts::layout_operations());
  parts.role_flags = nfs4::EXCHGID4_FLAG_USE_PNFS_MDS;
  parts.layout_types = {nfs4::layouttype4::LAYOUT4_NFSV4_1_FILES};
  parts.kinds.push_back(&layouts_);
  slabs_ = &shared.slabs;
  exports_ = &shared.exports;
  cluster_->use(shared.pool);
  register_metrics(shared.metrics);
}

void MetadataServer::register_metrics(base::MetricRegistry& metrics) {
  layouts_.counters().register_in(metrics);
  cluster_->source().counters().register_in(metrics);
  calls_->register_in(metrics);
  metrics.gauge("braid_pnfs_control_by_rdma", "Whether data servers are called by RDMA", {},
                [this] { return control_transport_ == rpc::Transport::rdma ? 1.0 : 0.0; });
  metrics.gauge("braid_pnfs_pending_fences", "Clients that a silent data server is yet to shut out", {},
                [this] { return static_cast<double>(cluster_->pending_fences().count()); });
}

void MetadataServer::start(std::span<const std::unique_ptr<ServerThread>> threads, nfs4::Nfs4Engine& engine) {
  cluster_->set_lowest_grant([this, &clients = engine.state().clients] {
    return clients.in_grace() ? pnfs::GrantNumber() : layouts_.grants().lowest();
  });
  std::vector<pnfs::ControlPath> paths;
  paths.reserve(threads.size());
  for (const auto& thread : threads) paths.push_back(control_path(*thread, control_transport_));
  calls_->start(
      *slabs_, cluster_->servers(), cluster_->secret(), [this] { return introduction(); }, paths,
      control_transport_);
  home_.with([&](io::Reactor*& home) { home = &threads.front()->reactor(); });
  state_ = &engine.state();
  looked_at_ = exports_->current();
  layouts_.recalls().start(engine.state(), threads.front()->reactor());
}

void MetadataServer::describe(std::vector<admin::AdminCommand>& commands) {
  for (admin::AdminCommand& command :
       cluster_commands({.cluster = *cluster_, .directories = directories_, .exports = *exports_}))
    commands.push_back(std::move(command));
}

void MetadataServer::wake() {
  home_.with([this](io::Reactor* home) {
    if (home == nullptr) return;
    home->post([this] {
      if (!gate_.closed()) io::spawn(gate_, remove_objects());
    });
  });
}

io::Op<> MetadataServer::remove_objects() { (void)co_await cluster_->removals().work().as_result(); }

io::Op<> MetadataServer::tick() {
  const std::uint64_t tick = ticks_++;
  if (cluster_->removals().backlog() > 0) wake();
  if (tick % look_ticks == 0 && cluster_->removals().earlier() > 0)
    run_at_home(looking_, &MetadataServer::look_at_earlier);
  if (cluster_->dirty().size() > 0 || !cluster_->truncations().unanswered(1).empty())
    run_at_home(settling_, &MetadataServer::settle);
  tell_of_in_band(tick);
  if (layouts_.earlier_live() && !state_->clients.in_grace()) layouts_.recalls().end_earlier();
  return look_at_exports();
}

// A client that has a layout and does not use it cannot reach a data server, or is refused there.
void MetadataServer::tell_of_in_band(std::uint64_t tick) {
  if (tick < tell_from_) return;
  pnfs_mds::InBandCounters& counters = cluster_->source().counters();
  const std::uint64_t reads = counters.take_past_layouts(pnfs_mds::InBand::read);
  const std::uint64_t writes = counters.take_past_layouts(pnfs_mds::InBand::write);
  if (reads + writes == 0) return;
  tell_from_ = tick + look_ticks;
  base::log_event(base::Level::info, "layouts_unused",
                  "reads={} writes={}: of clients with a layout of the file, through the metadata server",
                  reads, writes);
}

// A LAYOUTGET that is under way looks at the exports with the lock on all states held: it sees the new ones,
// or we see its layout.
io::Op<> MetadataServer::look_at_exports() {
  std::shared_ptr<const vfs::ExportTable> now = exports_->current();
  if (now == looked_at_) co_return;
  nfs4::state::DeferredWork work;
  state_->states.with(
      [&](nfs4::state::States& /*states*/) { layouts_.recall_unpermitted(*now, state_->clock.now(), work); });
  looked_at_ = std::move(now);
  (void)co_await nfs4::ops::settle(*state_, std::move(work)).as_result();
}

io::Op<bool> MetadataServer::take_back(vfs::ExportId from) {
  nfs4::state::DeferredWork work;
  const bool any = state_->states.with([&](nfs4::state::States& /*states*/) {
    return layouts_.recall_export(from, state_->clock.now(), work);
  });
  (void)co_await nfs4::ops::settle(*state_, std::move(work)).as_result();
  co_return any;
}

void MetadataServer::run_at_home(bool& running, io::Op<> (MetadataServer::*work)()) {
  home_.with([&](io::Reactor* home) {
    if (home == nullptr) return;
    home->post([this, &running, work] {
      if (!gate_.closed() && !std::exchange(running, true)) io::spawn(gate_, (this->*work)());
    });
  });
}

io::Op<> MetadataServer::settle() {
  (void)co_await settler_.work().as_result();
  settling_ = false;
}

vfs::VfsOp<pnfs_mds::Settler::Reached> MetadataServer::reach(vfs::FileHandle file) const {
  const std::shared_ptr<const vfs::ExportTable> table = exports_->current();
  const vfs::Export* const found = table->by_handle(file.view());
  if (found == nullptr) co_await base::fail(vfs::Error::delay);
  std::shared_ptr<vfs::FileSystem> file_system = found->file_system;
  vfs::FileRef resolved = co_await file_system->resolve(file.view());
  co_return pnfs_mds::Settler::Reached{std::move(file_system), std::move(resolved)};
}

io::Op<> MetadataServer::look_at_earlier() {
  const auto look = [this](vfs::FileHandle file) { return fate_of(file); };
  (void)co_await cluster_->removals().look_at_earlier(look).as_result();
  looking_ = false;
}

vfs::VfsOp<pnfs_mds::Removals::Fate> MetadataServer::fate_of(vfs::FileHandle file) const {
  using Fate = pnfs_mds::Removals::Fate;
  const std::shared_ptr<const vfs::ExportTable> table = exports_->current();
  const vfs::Export* const found = table->by_handle(file.view());
  if (found == nullptr) co_return Fate::unknown;
  const std::shared_ptr<vfs::FileSystem> file_system = found->file_system;
  const auto resolved = co_await file_system->resolve(file.view()).as_result();
  if (!resolved) co_return resolved.error() == vfs::Error::stale ? Fate::gone : Fate::unknown;
  const auto now = co_await file_system->getattr(*resolved).as_result();
  if (!now) co_return now.error() == vfs::Error::stale ? Fate::gone : Fate::unknown;
  co_return now->nlink > 0 ? Fate::lives : Fate::unknown;
}

// What is removed from now on stays for the next start.
io::Op<> MetadataServer::close() {
  home_.with([](io::Reactor*& home) { home = nullptr; });
  layouts_.recalls().stop();
  gate_.close();
  co_await gate_.drained();
  co_await calls_->close();
  co_await layouts_.recalls().drained();
  looked_at_.reset();  // file systems end before the server does, which this outlives
}

}  // namespace braid::server::roles::mds
