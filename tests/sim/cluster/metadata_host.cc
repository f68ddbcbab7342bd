#include "tests/sim/cluster/metadata_host.h"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "pnfs_mds/layouts/layout_operations.h"

namespace braid::sim::cluster {
namespace {

std::unique_ptr<vfs::Exports> exports_of(std::shared_ptr<vfs::FileSystem> files) {
  vfs::Export whole;
  whole.id = export_id;
  whole.path = "/";
  whole.squash = vfs::Squash::none;
  whole.file_system = std::move(files);
  std::vector<vfs::Export> table;
  table.push_back(std::move(whole));
  return std::make_unique<vfs::Exports>(std::make_shared<const vfs::ExportTable>(std::move(table)));
}

}  // namespace

MetadataHost::MetadataHost(const MetadataHostParts& parts, const Random& random)
    : parts_(parts),
      door_(parts.machine.scheduler, random.fork(1), parts.names.changes),
      tcp_(parts.machine.scheduler.reactor(), parts.slabs, nullptr, {}, tcp_metrics_) {
  parts.board.add(tcp_);
  door_.on_change = [this](const vfs::memory::Call& call) {
    if (call.operation == "setattr") parts_.on_setattr(call.fileid, call.who->holder);
  };
}

std::expected<std::unique_ptr<MetadataHost>, std::string> MetadataHost::start(const MetadataHostParts& parts,
                                                                              const Random& random) {
  std::unique_ptr<MetadataHost> host(new MetadataHost(parts, random));
  if (auto opened = host->open(); !opened) return std::unexpected(std::move(opened.error()));
  if (auto done = host->assemble(); !done) return std::unexpected(std::move(done.error()));
  return host;
}

std::expected<void, std::string> MetadataHost::open() {
  pnfs_mds::ClusterOptions options;
  options.state_dir = metadata_directory;
  options.secret_file = secret_file;
  options.policy = parts_.policy;
  // As server/roles/mds has them.
  options.contact = contact_time;
  options.servers.patience = contact_time + contact_time / 8;
  if (parts_.plant == Plant::long_contact) options.contact = lease_time * 4;
  auto opened = pnfs_mds::Cluster::open(options, parts_.machine.scheduler.clock(), calls_);
  if (!opened) return std::unexpected(std::move(opened.error().text));
  cluster_ = std::move(*opened);
  return {};
}

std::expected<void, std::string> MetadataHost::assemble() {
  const base::Clock& clock = parts_.machine.scheduler.clock();
  io::Reactor& reactor = parts_.machine.scheduler.reactor();
  layouts_.emplace(*cluster_);
  control_.emplace(*cluster_);
  const auto own = [this] { return pnfs_mds::introduction_of(*cluster_); };
  service_.emplace(clock, cluster_->secret(), own, *control_);
  settler_.emplace(
      *cluster_, [this](vfs::FileHandle file) { return reach(file); }, [this] { return closing_; });
  cluster_->removals().set_wake([this] { wake(); });
  files_ = std::make_shared<vfs::memory::MemoryFileSystem>(
      parts_.names.storage, door_, std::vector<vfs::ContentSource*>{&cluster_->source()});
  exports_ = exports_of(files_);
  nfs4::EngineParts engine;
  engine.operations.add(pnfs_mds::layouts::layout_operations());
  engine.role_flags = nfs4::EXCHGID4_FLAG_USE_PNFS_MDS;
  engine.layout_types = {nfs4::layouttype4::LAYOUT4_NFSV4_1_FILES};
  engine.kinds.push_back(&*layouts_);
  cluster_->use(pool_);
  auto made = nfs4::Nfs4Engine::create(engine_options(), {clock, *exports_, pool_, parts_.slabs, metrics_},
                                       metadata_directory, std::move(engine));
  if (!made) return std::unexpected(fmt::format("no records of clients: {}", base::message_of(made.error())));
  engine_ = std::move(*made);
  const std::array programs{engine_->program(), service_->program()};
  rpc_ = std::make_unique<rpc::Server>(rpc::ServerOptions{}, programs, metrics_, base::random_sip_key());
  worker_ = std::make_unique<rpc::ServerWorker>(*rpc_, reactor, parts_.slabs);
  engine_->start(reactor, tcp_);
  tell_data_servers();
  const std::array paths{pnfs::over_tcp(tcp_)};
  layouts_->recalls().start(engine_->state(), reactor);
  calls_.start(parts_.slabs, cluster_->servers(), cluster_->secret(), own, paths);
  return {};
}

void MetadataHost::tell_data_servers() {
  if (parts_.plant == Plant::forgotten_removals) {
    cluster_->set_file_facts(
        [](pnfs::ObjectId /*object*/) -> vfs::VfsOp<pnfs_mds::FileFacts> { return pnfs_mds::FileFacts(); });
    return;
  }
  cluster_->set_lowest_grant([this, &clients = engine_->state().clients] {
    return clients.in_grace() ? pnfs::GrantNumber() : layouts_->grants().lowest();
  });
}

void MetadataHost::wake() {
  if (!closing_)
    parts_.machine.scheduler.reactor().post([this] {
      if (!closing_) io::spawn(gate_, remove_objects(*this));
    });
}

io::Op<> MetadataHost::remove_objects(MetadataHost& self) {
  (void)co_await self.cluster_->removals().work().as_result();
}

io::Op<> MetadataHost::look_at_earlier(MetadataHost& self) {
  const auto look = [&self](vfs::FileHandle file) { return self.fate_of(file); };
  (void)co_await self.cluster_->removals().look_at_earlier(look).as_result();
  self.looking_ = false;
}

vfs::VfsOp<pnfs_mds::Removals::Fate> MetadataHost::fate_of(vfs::FileHandle file) const {
  using Fate = pnfs_mds::Removals::Fate;
  const auto resolved = co_await files_->resolve(file.view()).as_result();
  if (!resolved) co_return resolved.error() == vfs::Error::stale ? Fate::gone : Fate::unknown;
  const auto now = co_await files_->getattr(*resolved).as_result();
  if (!now) co_return now.error() == vfs::Error::stale ? Fate::gone : Fate::unknown;
  co_return now->nlink > 0 ? Fate::lives : Fate::unknown;
}

io::Op<> MetadataHost::settle(MetadataHost& self) {
  (void)co_await self.settler_->work().as_result();
  self.settling_ = false;
}

vfs::VfsOp<pnfs_mds::Settler::Reached> MetadataHost::reach(vfs::FileHandle file) const {
  vfs::FileRef resolved = co_await files_->resolve(file.view());
  co_return pnfs_mds::Settler::Reached{files_, std::move(resolved)};
}

io::Op<> MetadataHost::tick_engine(MetadataHost& self) {
  (void)co_await self.engine_->tick().as_result();
  self.ticking_ = false;
}

void MetadataHost::tick() {
  constexpr std::uint64_t look_ticks = 10;
  if (closing_) return;
  if (cluster_->removals().backlog() > 0) wake();
  if (layouts_->earlier_live() && !engine_->state().clients.in_grace()) layouts_->recalls().end_earlier();
  if (ticks_++ % look_ticks == 0 && cluster_->removals().earlier() > 0 && !std::exchange(looking_, true))
    io::spawn(gate_, look_at_earlier(*this));
  const bool unsettled = cluster_->dirty().size() > 0 || !cluster_->truncations().unanswered(1).empty();
  if (unsettled && !std::exchange(settling_, true)) io::spawn(gate_, settle(*this));
  if (!std::exchange(ticking_, true)) io::spawn(gate_, tick_engine(*this));
}

io::Op<> MetadataHost::close(MetadataHost& self) {
  (void)co_await self.calls_.close().as_result();
  (void)co_await self.layouts_->recalls().drained().as_result();
  (void)co_await self.engine_->close().as_result();
  (void)co_await self.tcp_.close().as_result();
  self.closed_ = true;
}

void MetadataHost::kill() {
  if (std::exchange(closing_, true)) return;
  door_.shut();
  layouts_->recalls().stop();
  parts_.board.hang_up(tcp_);
  io::spawn(gate_, close(*this));
}

bool MetadataHost::ended() const {
  return closed_ && gate_.count() == 0 && worker_->sessions() == 0 && pool_.stats().threads == 0;
}

}  // namespace braid::sim::cluster
