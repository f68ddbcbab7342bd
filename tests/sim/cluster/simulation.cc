#include "tests/sim/cluster/simulation.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <expected>
#include <utility>

#include "base/unique_fd.h"
#include "pnfs/record_log.h"
#include "tests/sim/cluster/options.h"

namespace braid::sim::cluster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr base::Duration length_min = seconds(60);
constexpr base::Duration length_max = seconds(150);
// How long everything may take to come to rest.
constexpr base::Duration end_max = seconds(180);

// Fences without what they leave in force.
void strip_fences(const std::string& directory) {
  const base::UniqueFd at(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::vector<base::Bytes> stripped;
  const auto take = [&](base::BytesView record) {
    auto fence = pnfs_ds::decode_fence(record);
    if (!fence) return;
    if (auto* const epoch = std::get_if<pnfs_ds::EpochFence>(&*fence)) epoch->kept.reset();
    stripped.push_back(pnfs_ds::encode(*fence));
  };
  const auto log = pnfs::RecordLog::open(at.get(), pnfs_ds::FenceLog::file_name, take);
  if (log) (void)(*log)->rewrite(stripped);
}

long in_ms(base::Duration length) { return std::chrono::duration_cast<milliseconds>(length).count(); }

}  // namespace

Simulation::Simulation(const SimulationOptions& options, io::SlabPool& slabs)
    : options_(options),
      slabs_(slabs),
      random_(options.seed),
      began_(scheduler_.now()),
      trace_(options.trace, scheduler_.clock()),
      machine_(scheduler_, random_.fork(1)),
      board_(machine_, random_.fork(2)),
      names_(scheduler_.clock()),
      metadata_mount_(machine_.mount(metadata_directory)),
      metadata_network_(machine_, slabs, {.latency_max = milliseconds(1U << random_.below(7))},
                        random_.fork(3)),
      oracle_(scheduler_, trace_),
      world_{scheduler_, oracle_, trace_, metadata_network_, {}, options.plant, {}, {}, {}} {
  world_.is_fenced = [this](std::uint32_t server, base::BytesView handle) {
    const auto& alive = data_.at(server)->alive;
    return alive != nullptr && alive->is_fenced(handle);
  };
  const auto secret = machine_.disk()->create("secret");
  secret->content = base::Bytes(32, std::byte{0x5e});
  const std::uint64_t servers = random_.between(std::uint64_t{2}, std::uint64_t{4});
  for (std::uint32_t i = 0; i < servers; ++i)
    add_data_server(i, {.latency_max = milliseconds(1U << random_.below(7)), .straggle_max = seconds(15)});
  choose_world();
}

void Simulation::add_data_server(std::uint32_t number, const NetworkOptions& network) {
  auto server = std::make_unique<DataServer>();
  server->number = number;
  server->mount = machine_.mount(data_directory(number));
  server->medium = std::make_unique<Medium>(scheduler_.clock(), [this, number](const std::string& name) {
    oracle_.violation(
        "removed_object_back", 0, {},
        fmt::format("data server {} makes the object {} again, which was removed", number, name));
  });
  if (options_.plant == Plant::lying_medium) server->medium->lie();
  server->network = std::make_unique<Network>(machine_, slabs_, network, random_.fork(10 + number));
  if (random_.percent(25)) server->delay_max = seconds(2);
  board_.route(data_address(number), *server->network, metadata_caller);
  board_.route(metadata_address(first_data_caller + number), metadata_network_, first_data_caller + number);
  world_.data.push_back(server->network.get());
  world_.contact_ends.push_back(base::TimePoint::max());
  data_.push_back(std::move(server));
}

void Simulation::choose_world() {
  calm_ = random_.percent(25) ? 1 : 4;
  policy_.unit = pnfs::Striping::unit_min;
  policy_.width = static_cast<std::uint32_t>(random_.between(std::uint64_t{1}, std::uint64_t{4}));
  if (random_.percent(20)) policy_.packing = pnfs::Packing::dense;
  world_.names = static_cast<std::uint32_t>(random_.between(std::uint64_t{1}, std::uint64_t{3}));
  world_.cells = static_cast<std::uint32_t>(random_.between(std::uint64_t{2}, std::uint64_t{cells_max}));
  world_.change_percent = random_.between(std::uint64_t{30}, std::uint64_t{85});
  const std::uint64_t clients = random_.between(std::uint64_t{2}, std::uint64_t{5});
  traits_.reserve(clients);
  for (std::uint32_t i = 0; i < clients; ++i)
    traits_.push_back(
        {.index = i,
         .workers = static_cast<std::uint32_t>(random_.between(std::uint64_t{1}, std::uint64_t{2})),
         .minor_version = random_.percent(20) ? 1U : 2U,
         .stubborn = random_.percent(25)});
  clients_.resize(clients);
}

void Simulation::run() {
  scheduler_.after(base::Duration(0), [this] {
    start_metadata();
    for (const auto& server : data_) start_data(*server);
    for (std::uint32_t i = 0; i < traits_.size(); ++i) boot(i);
    tick();
    make_troubles();
  });
  scheduler_.after(random_.between(length_min, length_max), [this] { wind_up(); });
  scheduler_.run([this] { return over(); });
}

// Each seed has its own mix of them; some have none of a kind.
void Simulation::make_troubles() {
  const auto mean = [this](base::Duration low, base::Duration high) {
    return calm_ * random_.between(low, high) / 4;
  };
  if (random_.percent(70)) now_and_then(mean(seconds(2), seconds(20)), &Simulation::break_connection);
  if (random_.percent(60)) now_and_then(mean(seconds(10), seconds(60)), &Simulation::cut_off_a_client);
  if (random_.percent(50)) now_and_then(mean(seconds(10), seconds(60)), &Simulation::silence_a_client);
  if (random_.percent(40)) now_and_then(mean(seconds(15), seconds(90)), &Simulation::reboot_a_client);
  if (random_.percent(60)) now_and_then(mean(seconds(10), seconds(60)), &Simulation::restart_data);
  if (random_.percent(50)) now_and_then(mean(seconds(15), seconds(80)), &Simulation::cut_off_servers);
  if (random_.percent(50)) now_and_then(mean(seconds(20), seconds(90)), &Simulation::restart_metadata);
  if (options_.plant == Plant::shrinking_stubs) now_and_then(seconds(10), &Simulation::shrink_stubs);
}

void Simulation::now_and_then(base::Duration mean, void (Simulation::*what)()) {
  scheduler_.after(random_.between(base::Duration(1), 2 * mean), [this, mean, what] {
    if (ending_) return;
    (this->*what)();
    now_and_then(mean, what);
  });
}

// --- Servers.

template <class Start>
bool Simulation::fails_while(Machine::MountIndex mount, Start start) {
  bool failed = false;
  if (random_.percent(10))
    machine_.crash_after(random_.between(std::uint64_t{1}, std::uint64_t{8}), [&] { failed = true; }, mount);
  start();
  machine_.forget_fuse();
  return failed;
}

void Simulation::start_metadata() {
  const std::uint32_t life = ++world_.metadata_life;
  trace_.add({}, {}, "metadata server {} starts", life);
  std::expected<std::unique_ptr<MetadataHost>, std::string> started;
  const bool failed = fails_while(metadata_mount_, [&] {
    started = MetadataHost::start(
        {.machine = machine_,
         .board = board_,
         .slabs = slabs_,
         .names = names_,
         .policy = policy_,
         .life = life,
         .plant = options_.plant,
         .on_setattr = [this](std::uint64_t fileid, vfs::LeaseHolder who) { note_setattr(fileid, who); }},
        random_.fork(1000 + life));
  });
  if (started) metadata_ = std::move(*started);
  if (failed) {
    kill_metadata();
    scheduler_.after(seconds(1), [this] {
      if (!ending_) start_metadata();
    });
    return;
  }
  if (!started) return oracle_.violation("start", 0, {}, "the metadata server: " + started.error());
  metadata_network_.set_server(metadata_.get());
}

// In the order in which the metadata server takes them; clients have the answers in any order.
void Simulation::note_setattr(std::uint64_t fileid, vfs::LeaseHolder who) {
  if (!options_.trace) return;
  const vfs::FileHandle handle = names_.storage.handle_of(fileid);
  const auto client = world_.holders.find(who.value());
  trace_.add({}, oracle_.file_of(std::string(base::text_of(handle.view()))),
             "the metadata server has set the size to {} for client {}",
             names_.storage.node(fileid).attributes.size,
             client == world_.holders.end() ? "?" : std::to_string(client->second));
}

void Simulation::kill_metadata() {
  if (metadata_ == nullptr) return;
  trace_.add({}, {}, "metadata server {} is killed", metadata_->life());
  metadata_->kill();
  metadata_network_.set_server(nullptr);
  dead_metadata_.push_back(std::move(metadata_));
}

void Simulation::start_data(DataServer& server) {
  const bool forgets =
      options_.plant == Plant::forgotten_fences || options_.plant == Plant::forgotten_removals;
  if (forgets) {
    machine_.disk(server.mount)->remove("fences");
    machine_.disk(server.mount)->sync_directory();
  }
  if (options_.plant == Plant::forgotten_keeps && server.lives > 0)
    strip_fences(data_directory(server.number));
  ++server.lives;
  trace_.add({}, {}, "data server {} starts", server.number);
  std::expected<std::unique_ptr<DataHost>, std::string> started;
  const bool failed = fails_while(server.mount, [&] {
    started = DataHost::start({.machine = machine_,
                               .board = board_,
                               .slabs = slabs_,
                               .medium = *server.medium,
                               .number = server.number,
                               .life = server.lives,
                               .delay_max = server.delay_max,
                               .plant = options_.plant},
                              random_.fork(2000 + 100 * server.number + server.lives));
  });
  if (started) server.alive = std::move(*started);
  if (failed) {
    kill_data(server);
    scheduler_.after(seconds(1), [this, &server] {
      if (!ending_ && server.alive == nullptr) start_data(server);
    });
    return;
  }
  if (!started)
    return oracle_.violation("start", 0, {},
                             fmt::format("data server {}: {}", server.number, started.error()));
  server.network->set_server(server.alive.get());
}

void Simulation::kill_data(DataServer& server) {
  if (server.alive == nullptr) return;
  const bool power = random_.percent(60);
  trace_.add({}, {}, "data server {} {}", server.number, power ? "loses power" : "is killed");
  oracle_.server_died(server.number);
  server.alive->kill();
  server.network->set_server(nullptr);
  if (power) server.medium->lose(random_.fork(3000 + 100 * server.number + server.lives));
  dead_data_.push_back(std::move(server.alive));
}

void Simulation::tick() {
  std::erase_if(dead_metadata_, [](const auto& one) { return one->ended(); });
  std::erase_if(dead_data_, [](const auto& one) { return one->ended(); });
  if (metadata_ != nullptr) metadata_->tick();
  for (const auto& server : data_) {
    if (server->alive == nullptr) continue;
    server->alive->tick();
    if (const std::string failure = server->alive->failure(); !failure.empty())
      oracle_.violation("start", 0, {}, fmt::format("data server {} gives up: {}", server->number, failure));
  }
  scheduler_.after(seconds(1), [this] { tick(); });
}

void Simulation::fail_power(Machine::MountIndex mount, std::function<void()> die,
                            std::function<bool()> still_alive) {
  if (random_.percent(60)) {
    machine_.crash(mount);
    return die();
  }
  machine_.crash_after(random_.between(std::uint64_t{1}, std::uint64_t{5}), die, mount);
  scheduler_.after(seconds(5), [this, mount, die, still_alive] {
    if (!still_alive()) return;
    machine_.forget_fuse();
    machine_.crash(mount);
    die();
  });
}

void Simulation::restart_metadata() {
  if (metadata_ == nullptr || std::exchange(metadata_restarting_, true)) return;
  const std::uint32_t life = world_.metadata_life;
  const auto alive = [this, life] { return life == world_.metadata_life && metadata_ != nullptr; };
  const auto die = [this] {
    kill_metadata();
    base::Duration down = random_.between(milliseconds(50), seconds(5));
    if (random_.percent(20)) down += lease_time;
    scheduler_.after(down, [this] {
      metadata_restarting_ = false;
      if (!ending_) start_metadata();
    });
  };
  fail_power(metadata_mount_, die, alive);
}

void Simulation::restart_data() {
  DataServer& server = *data_[random_.below(data_.size())];
  if (server.alive == nullptr || std::exchange(server.restarting, true)) return;
  const auto alive = [&server, life = server.lives] {
    return life == server.lives && server.alive != nullptr;
  };
  const auto die = [this, &server] {
    kill_data(server);
    base::Duration down = random_.between(milliseconds(50), seconds(5));
    if (random_.percent(25)) down += random_.between(contact_time, lease_time);
    scheduler_.after(down, [this, &server] {
      server.restarting = false;
      if (!ending_) start_data(server);
    });
  };
  fail_power(server.mount, die, alive);
}

// --- Networks and clients.

void Simulation::break_connection() {
  const std::uint64_t which = random_.below(data_.size() + 1);
  (which == data_.size() ? metadata_network_ : *data_[which]->network).break_one(random_);
}

void Simulation::cut_off_servers() {
  DataServer& server = *data_[random_.below(data_.size())];
  const base::Duration length = random_.between(milliseconds(500), 2 * lease_time);
  const base::TimePoint until = scheduler_.now() + length;
  trace_.add({}, {}, "data server {} and the metadata server are cut off from each other for {} ms",
             server.number, in_ms(length));
  metadata_network_.cut_off(first_data_caller + server.number, until);
  server.network->cut_off(metadata_caller, until);
  if (random_.percent(50))
    scheduler_.after(random_.between(base::Duration(0), length), [this, &server] {
      metadata_network_.break_those_of(first_data_caller + server.number);
      server.network->break_those_of(metadata_caller);
    });
  // What was under way is late, too; so no heartbeat that was sent before that is answered after it.
  const std::uint64_t cut = ++server.cuts;
  world_.contact_ends[server.number] = scheduler_.now() + contact_time;
  scheduler_.at(until, [this, &server, cut] {
    if (cut == server.cuts) world_.contact_ends[server.number] = base::TimePoint::max();
  });
}

void Simulation::cut_off_a_client() {
  const auto index = static_cast<std::uint32_t>(random_.below(clients_.size()));
  const base::Duration length = random_.percent(50) ? random_.between(milliseconds(100), lease_time / 2)
                                                    : random_.between(lease_time, 3 * lease_time);
  const base::TimePoint until = scheduler_.now() + length;
  // From the metadata server, from a data server, or from all.
  const std::uint64_t which = random_.below(data_.size() + 2);
  trace_.add(index, {}, "is cut off from {} for {} ms",
             which < data_.size() ? fmt::format("data server {}", which)
                                  : (which == data_.size() ? "the metadata server" : "all"),
             in_ms(length));
  if (which >= data_.size()) metadata_network_.cut_off(index, until);
  for (std::uint64_t i = 0; i < data_.size(); ++i)
    if (i == which || which > data_.size()) data_[i]->network->cut_off(index, until);
}

void Simulation::silence_a_client() {
  const auto index = static_cast<std::uint32_t>(random_.below(clients_.size()));
  const base::Duration length = random_.between(lease_time / 2, 3 * lease_time);
  trace_.add(index, {}, "falls silent for {} ms", in_ms(length));
  clients_[index]->fall_silent(scheduler_.now() + length);
}

void Simulation::reboot_a_client() {
  const auto index = static_cast<std::uint32_t>(random_.below(clients_.size()));
  clients_[index]->crash();
  boot(index);
}

void Simulation::boot(std::uint32_t index) {
  every_client_.push_back(std::make_unique<Client>(world_, traits_[index],
                                                   static_cast<std::uint32_t>(every_client_.size() + 1),
                                                   random_.fork(5000 + every_client_.size())));
  clients_[index] = every_client_.back().get();
  clients_[index]->start();
}

void Simulation::shrink_stubs() {
  for (std::uint32_t i = 0; i < world_.names; ++i) {
    const auto found = names_.storage.find(vfs::memory::Storage::root_id, fmt::format("f{}", i));
    if (found) names_.storage.node(*found).attributes.size /= 2;
  }
}

// --- The end.

void Simulation::wind_up() {
  if (std::exchange(ending_, true)) return;
  trace_.add({}, {}, "the end");
  patience_ = scheduler_.now() + end_max;
  for (Client* client : clients_) client->crash();
  machine_.forget_fuse();
  kill_metadata();
  for (const auto& server : data_) kill_data(*server);
}

bool Simulation::quiet() {
  const bool networks = metadata_network_.quiet() && std::ranges::all_of(data_, [](const auto& server) {
                          return server->network->quiet();
                        });
  return networks && board_.quiet() && dead_metadata_.empty() && dead_data_.empty() &&
         std::ranges::all_of(every_client_, [](const auto& client) { return client->ended(); });
}

bool Simulation::over() {
  if (oracle_.found()) wind_up();
  if (!ending_) return false;
  if (quiet()) return true;
  if (scheduler_.now() <= patience_) return false;
  // What still runs holds on to this; the program ends without tidying up.
  oracle_.violation("end", 0, {}, "a server that was killed does not come to its end");
  return true;
}

}  // namespace braid::sim::cluster
