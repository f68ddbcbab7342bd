#include "tests/sim/server.h"

#include <array>
#include <utility>
#include <vector>

#include "tests/sim/hoard.h"

namespace braid::sim {
namespace {

nfs4::EngineOptions engine_options(Plant plant) {
  nfs4::EngineOptions options;
  options.nfs.recall_patience = std::chrono::milliseconds(30);
  options.clients.lease = lease_time;
  if (plant == Plant::short_lease) options.clients.lease = lease_time / 10;
  if (plant == Plant::eternal_lease) options.clients.lease = lease_time * 10;
  // Short enough that sweeping is part of what is simulated.
  options.clients.courtesy = lease_time * 5;
  return options;
}

rpc::ServerOptions rpc_options(Plant plant) {
  rpc::ServerOptions options;
  options.replay.entries_max = 1024;
  if (plant == Plant::forgotten_replies) options.replay.age_max = base::Duration(0);
  return options;
}

std::unique_ptr<vfs::Exports> exports_of(std::shared_ptr<vfs::FileSystem> files) {
  vfs::Export all;
  all.id = export_id;
  all.path = "/";
  all.squash = vfs::Squash::none;
  all.file_system = std::move(files);
  std::vector<vfs::Export> table;
  table.push_back(std::move(all));
  return std::make_unique<vfs::Exports>(std::make_shared<const vfs::ExportTable>(std::move(table)));
}

std::vector<vfs::ContentSource*> sources_of(const Files& files, vfs::memory::ObjectSource& source) {
  if (files.in_objects) return {&source};
  return {};
}

}  // namespace

Server::Server(Machine& machine, Files& files, io::SlabPool& slabs, const Random& random, Plant plant,
               std::uint32_t life)
    : life_(life),
      plant_(plant),
      born_(machine.scheduler.now()),
      stored_(files),
      door_(machine.scheduler, random.fork(life), files.changes),
      source_(files.objects, door_, vfs::memory::ObjectSource::Places::at_first_write),
      files_(
          std::make_shared<vfs::memory::MemoryFileSystem>(files.storage, door_, sources_of(files, source_))),
      exports_(exports_of(files_)),
      engine_(nfs4::Nfs4Engine::create(engine_options(plant),
                                       {machine.scheduler.clock(), *exports_, pool_, slabs, metrics_},
                                       "/simulated")
                  .value()),
      tcp_(machine.scheduler.reactor(), slabs, nullptr, {}, tcp_metrics_) {
  const std::array programs{engine_->program()};
  rpc_ = std::make_unique<rpc::Server>(rpc_options(plant), programs, metrics_, base::random_sip_key());
  worker_ = std::make_unique<rpc::ServerWorker>(*rpc_, machine.scheduler.reactor(), slabs);
  engine_->start(machine.scheduler.reactor(), tcp_);
}

io::Op<> Server::tick_engine(Server& self) {
  (void)co_await self.engine_->tick().as_result();
  self.ticking_ = false;
}

void Server::tick() {
  if (closing_ || std::exchange(ticking_, true)) return;
  io::spawn(gate_, tick_engine(*this));
}

io::Op<> Server::place_file(Server& self, std::uint64_t fileid) {
  const vfs::FileHandle handle = self.stored_.storage.handle_of(fileid);
  const auto file = co_await self.files_->resolve(handle.view()).as_result();
  if (!file) co_return;
  const vfs::PlacementHint nothing;
  (void)co_await self.files_->place(*file, self.source_, nothing).as_result();
}

void Server::place(std::uint64_t fileid) {
  if (!closing_ && stored_.in_objects) io::spawn(gate_, place_file(*this, fileid));
}

void Server::hoard(std::uint64_t fileid, std::uint64_t number) {
  if (closing_) return;
  if (hoarder_ != 0) {
    io::spawn(gate_, evict(*this, std::exchange(hoarder_, 0)));
    return;
  }
  io::spawn(gate_, begin_to_hoard(*this, fileid, number));
}

io::Op<> Server::begin_to_hoard(Server& self, std::uint64_t fileid, std::uint64_t number) {
  const vfs::FileHandle handle = self.stored_.storage.handle_of(fileid);
  const auto file = co_await self.files_->resolve(handle.view()).as_result();
  if (!file) co_return;
  const vfs::Credentials root;
  const auto open =
      co_await self.files_->open(root, *file, vfs::OpenAccess::both, vfs::OpenRule::caller).as_result();
  if (!open || self.closing_ || self.hoarder_ != 0) co_return;
  const Hoard what = self.plant_ == Plant::whole_close ? Hoard::whole_close
                     : number % 2 == 0                 ? Hoard::one_owner
                                                       : Hoard::many_owners;
  self.hoarder_ =
      hoard_locks(self.engine_->state(), handle, *open, number, what, self.engine_->state().clock.now());
}

io::Op<> Server::evict(Server& self, nfs4::clientid4 client) {
  (void)co_await self.engine_->evict(client).as_result();
  if (self.plant_ != Plant::hasty_unlocks) co_return;
  for (std::uint64_t i = 0; i < hoarded_ranges; ++i)
    (void)co_await self.files_->unlock(self.files_->root(), vfs::LockOwnerId{i}, {0, 1}).as_result();
}

std::uint64_t Server::longest_call() const {
  return engine_->state().states.with(
      [](const nfs4::state::States& states) { return states.longest_call(); });
}

io::Op<> Server::close_engine(Server& self) {
  (void)co_await self.engine_->close().as_result();
  (void)co_await self.tcp_.close().as_result();
  self.closed_ = true;
}

void Server::kill() {
  if (std::exchange(closing_, true)) return;
  door_.shut();
  if (plant_ == Plant::stuck_job) stuck_.emplace(gate_);
  io::spawn(gate_, close_engine(*this));
}

bool Server::ended() const {
  return closed_ && gate_.count() == 0 && worker_->sessions() == 0 && pool_.stats().threads == 0;
}

}  // namespace braid::sim
