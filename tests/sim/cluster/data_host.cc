#include "tests/sim/cluster/data_host.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "nfs4/recovery/client_records.h"
#include "pnfs/secret_file.h"
#include "pnfs_ds/ops/operations.h"
#include "tests/sim/cluster/options.h"

namespace braid::sim::cluster {
namespace {

constexpr std::uint64_t room_bytes = std::uint64_t{1} << 40U;
// Few, so that objects are closed and opened again.
constexpr std::size_t objects_max = 4;

pnfs::control_status anybody(const pnfs::Introduction& /*other*/) { return pnfs::control_status::CONTROL_OK; }

}  // namespace

DataHost::DataHost(const DataHostParts& parts, const Random& random)
    : parts_(parts),
      door_(parts.machine.scheduler, random.fork(1), parts.medium, parts.delay_max),
      files_(std::make_shared<vfs::memory::MemoryFileSystem>(parts.medium.storage(), door_)),
      exports_(std::make_shared<const vfs::ExportTable>(std::vector<vfs::Export>{})),
      tcp_(parts.machine.scheduler.reactor(), parts.slabs, nullptr, {}, tcp_metrics_) {
  parts.board.add(tcp_);
  vfs::memory::Traits& traits = files_->traits();
  const std::uint64_t verifier = random.fork(2).next();
  std::memcpy(traits.verifier.bytes.data(), &verifier, sizeof verifier);
  traits.status = {room_bytes, room_bytes, room_bytes, 1'000'000, 1'000'000, 1'000'000};
}

std::expected<std::unique_ptr<DataHost>, std::string> DataHost::start(const DataHostParts& parts,
                                                                      const Random& random) {
  std::unique_ptr<DataHost> host(new DataHost(parts, random));
  if (auto opened = host->open(); !opened) return std::unexpected(std::move(opened.error()));
  host->assemble();
  return host;
}

std::expected<void, std::string> DataHost::open() {
  auto secret = pnfs::read_secret(secret_file);
  if (!secret) return std::unexpected(std::move(secret.error()));
  opened_.secret = *secret;
  auto store = pnfs_ds::StoreDirectory::open(data_directory(parts_.number));
  if (!store) return std::unexpected(std::move(store.error()));
  opened_.store = std::move(*store);
  opened_.fences = std::make_unique<pnfs_ds::FenceTable>();
  auto log = pnfs_ds::FenceLog::open(opened_.store->fd(), *opened_.fences, pool_);
  if (!log)
    return std::unexpected(fmt::format("the fences cannot be read: {}", base::message_of(log.error())));
  opened_.log = std::move(*log);
  return {};
}

void DataHost::assemble() {
  const base::Clock& clock = parts_.machine.scheduler.clock();
  io::Reactor& reactor = parts_.machine.scheduler.reactor();
  contact_.emplace(clock, *opened_.secret, opened_.store->server());
  objects_.emplace(pnfs_ds::Objects::Parts{.files = files_,
                                           .server = opened_.store->server(),
                                           .sets_owner = true,
                                           .objects_max = objects_max,
                                           .fences = *opened_.fences,
                                           .log = *opened_.log,
                                           .cluster = [this] { return opened_.store->cluster(); }});
  calls_.emplace(*objects_);
  const auto own = [this] { return introduction(); };
  control_.emplace(clock, *opened_.secret, own, *calls_);
  server_ = pnfs_ds::DataServer::create(*objects_, *contact_, peers_, parts_.slabs, metrics_).value();
  nfs4::EngineParts engine;
  engine.operations = pnfs_ds::operations();
  engine.role_flags = nfs4::EXCHGID4_FLAG_USE_PNFS_DS;
  engine.handles = server_.get();
  const nfs4::EngineResources resources{clock, exports_, pool_, parts_.slabs, metrics_};
  engine_ = std::make_unique<nfs4::Nfs4Engine>(
      engine_options(), resources,
      std::make_unique<nfs4::recovery::NoRecords>(static_cast<std::uint32_t>(pnfs::random_session()) | 1U,
                                                  fmt::format("data server {}", parts_.number)),
      std::move(engine));
  const std::array programs{engine_->program(), control_->program()};
  rpc_.emplace(rpc::ServerOptions{}, programs, metrics_, base::random_sip_key());
  worker_ = std::make_unique<rpc::ServerWorker>(*rpc_, reactor, parts_.slabs);
  const rpc::PeerAddress mds = metadata_address(first_data_caller + parts_.number);
  peers_.add(std::make_unique<pnfs::ControlPeer>(pnfs::over_tcp(tcp_), parts_.slabs, mds, *opened_.secret,
                                                 own, anybody),
             reactor);
  engine_->start(reactor, tcp_);
  heartbeats_ = std::make_unique<pnfs_ds::Heartbeats>(pnfs::over_tcp(tcp_), parts_.slabs,
                                                      pnfs_ds::Heartbeats::Parts{.to = {mds, mds.text()},
                                                                                 .secret = *opened_.secret,
                                                                                 .own = own,
                                                                                 .store = *opened_.store,
                                                                                 .objects = *objects_,
                                                                                 .fences = *opened_.fences,
                                                                                 .contact = *contact_,
                                                                                 .pool = pool_});
  heartbeats_->start();
}

pnfs::Introduction DataHost::introduction() const {
  return {.role = pnfs::control_role::ROLE_DATA,
          .cluster = opened_.store->cluster(),
          .server = opened_.store->server(),
          .name = fmt::format("ds{}", parts_.number),
          .addresses = {{"tcp", data_uaddr(parts_.number)}}};
}

io::Op<> DataHost::tick_engine(DataHost& self) {
  (void)co_await self.engine_->tick().as_result();
  self.ticking_ = false;
}

bool DataHost::is_fenced(base::BytesView handle) const {
  const std::optional<pnfs::KeyNumber> key = pnfs::DataHandleCodec::key_of(handle);
  const auto codec = key ? contact_->codec(*key) : nullptr;
  const auto opened = codec == nullptr ? std::nullopt : codec->open(handle);
  return opened && opened_.fences->check(*opened) == pnfs_ds::Refusal::fenced;
}

void DataHost::tick() {
  if (closing_ || std::exchange(ticking_, true)) return;
  io::spawn(gate_, tick_engine(*this));
}

io::Op<> DataHost::close(DataHost& self) {
  (void)co_await self.heartbeats_->close().as_result();
  (void)co_await self.engine_->close().as_result();
  (void)co_await self.peers_.close().as_result();
  (void)co_await self.tcp_.close().as_result();
  self.closed_ = true;
}

void DataHost::kill() {
  if (std::exchange(closing_, true)) return;
  door_.shut();
  parts_.board.hang_up(tcp_);
  if (parts_.plant == Plant::stuck_job) stuck_.emplace(gate_);
  io::spawn(gate_, close(*this));
}

bool DataHost::ended() const {
  return closed_ && gate_.count() == 0 && worker_->sessions() == 0 && pool_.stats().threads == 0;
}

}  // namespace braid::sim::cluster
