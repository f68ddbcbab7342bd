#include "tests/sim/simulation.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "tests/sim/hoard.h"

namespace braid::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr base::Duration length_min = seconds(60);
constexpr base::Duration length_max = seconds(200);
// How long everything may take to come to rest.
constexpr base::Duration end_max = seconds(120);

}  // namespace

Simulation::Simulation(const SimulationOptions& options, io::SlabPool& slabs)
    : options_(options),
      slabs_(slabs),
      random_(options.seed),
      began_(scheduler_.now()),
      trace_(options.trace, scheduler_.clock()),
      machine_(scheduler_, random_.fork(1)),
      files_(scheduler_.clock()),
      network_(machine_, slabs, {.latency_max = milliseconds(1U << random_.below(8))}, random_.fork(2)),
      oracle_(scheduler_, network_, trace_),
      world_{scheduler_, network_, files_.storage, files_.changes, oracle_, trace_, options.plant} {
  if (options.plant == Plant::lying_disk) machine_.disk()->lie();
  if (options.plant == Plant::undeleted_records) machine_.disk()->keep_all();
  files_.in_objects = random_.fork(3).percent(40);
  // In some seeds most are content to read, and there are files for everybody: a place for delegations.
  const bool calm = random_.percent(35);
  if (calm) {
    world_.read_percent = 85;
    world_.deny_percent = 3;
  }
  const std::uint64_t files = random_.between(std::uint64_t{1}, std::uint64_t{calm ? 6U : 3U});
  for (std::uint64_t i = 0; i < files; ++i)
    world_.files.push_back(
        files_.storage.add(vfs::memory::Storage::root_id, fmt::format("f{}", i), vfs::FileType::regular));
  hoarded_ = files_.storage.add(vfs::memory::Storage::root_id, "hoard", vfs::FileType::regular);
  const std::uint64_t clients = random_.between(std::uint64_t{2}, std::uint64_t{6});
  for (std::uint32_t i = 0; i < clients; ++i)
    traits_.push_back(
        {.index = i,
         .minor_version = static_cast<std::uint32_t>(random_.below(2)),
         .owners = static_cast<std::uint32_t>(random_.between(std::uint64_t{1}, std::uint64_t{2})),
         .returns_delegations = !random_.percent(15)});
  clients_.resize(clients);
}

void Simulation::run() {
  scheduler_.after(base::Duration(0), [this] {
    start_server();
    for (std::uint32_t i = 0; i < traits_.size(); ++i) boot(i);
    tick();
    // Each seed has its own mix of troubles; some have none of a kind.
    if (random_.percent(80))
      now_and_then(random_.between(seconds(2), seconds(20)), &Simulation::break_connection);
    if (random_.percent(70))
      now_and_then(random_.between(seconds(10), seconds(60)), &Simulation::cut_off_a_client);
    if (random_.percent(60))
      now_and_then(random_.between(seconds(10), seconds(60)), &Simulation::silence_a_client);
    if (random_.percent(50))
      now_and_then(random_.between(seconds(15), seconds(90)), &Simulation::reboot_a_client);
    if (random_.percent(75))
      now_and_then(random_.between(seconds(15), seconds(90)), &Simulation::restart_soon);
    if (random_.fork(4).percent(20))
      now_and_then(random_.between(seconds(10), seconds(60)), &Simulation::hoard);
    if (files_.in_objects)
      now_and_then(random_.between(milliseconds(200), seconds(10)), &Simulation::place_a_file);
  });
  scheduler_.after(random_.between(length_min, length_max), [this] { wind_up(); });
  scheduler_.run([this] { return over(); });
}

void Simulation::now_and_then(base::Duration mean, void (Simulation::*what)()) {
  scheduler_.after(random_.between(base::Duration(1), 2 * mean), [this, mean, what] {
    if (ending_) return;
    (this->*what)();
    now_and_then(mean, what);
  });
}

void Simulation::start_server() {
  servers_.push_back(
      std::make_unique<Server>(machine_, files_, slabs_, random_.fork(100), options_.plant, ++lives_));
  trace_.add({}, {}, "server {} starts", lives_);
  oracle_.born(lives_);
  network_.set_server(servers_.back().get());
}

void Simulation::kill_server() {
  Server& server = *servers_.back();
  trace_.add({}, {}, "server {} is killed", server.life());
  oracle_.died(server.life());
  server.kill();
  network_.set_server(nullptr);
}

void Simulation::tick() {
  const Server* const alive = server();
  std::erase_if(servers_, [alive](const auto& one) { return one.get() != alive && one->ended(); });
  if (server() != nullptr) {
    server()->tick();
    if (const std::uint64_t entries = server()->longest_call(); entries > entries_max)
      oracle_.violation("short_calls", 0, {},
                        fmt::format("a call has looked at {} entries of the server's state", entries));
    if (const std::uint64_t calls = server()->longest_turn(); calls > turn_calls_max)
      oracle_.violation("short_turns", 0, {},
                        fmt::format("{} calls of the file system within one turn", calls));
  }
  scheduler_.after(seconds(1), [this] { tick(); });
}

void Simulation::restart_soon() {
  if (std::exchange(restarting_, true)) return;
  const auto die = [this] {
    if (network_.server() == nullptr || !restarting_) return;
    kill_server();
    base::Duration down = random_.between(milliseconds(50), seconds(5));
    if (random_.percent(15)) down += lease_time;
    scheduler_.after(down, [this] {
      if (ending_) return;
      start_server();
      restarting_ = false;
    });
  };
  if (random_.percent(30)) {
    // In the middle of a change on the disk, if there is one soon.
    machine_.crash_after(random_.between(std::uint64_t{1}, std::uint64_t{5}), die);
    scheduler_.after(seconds(5), [this, die, life = lives_] {
      machine_.forget_fuse();
      if (life != lives_ || network_.server() == nullptr) return;
      machine_.crash();
      die();
    });
    return;
  }
  machine_.crash();
  die();
}

void Simulation::break_connection() { network_.break_one(random_); }

void Simulation::cut_off_a_client() {
  const auto index = static_cast<std::uint32_t>(random_.below(clients_.size()));
  const base::Duration length = random_.percent(50) ? random_.between(milliseconds(100), lease_time / 2)
                                                    : random_.between(lease_time, 3 * lease_time);
  trace_.add(index, {}, "is cut off for {} ms", std::chrono::duration_cast<milliseconds>(length).count());
  network_.cut_off(index, scheduler_.now() + length);
}

void Simulation::silence_a_client() {
  const auto index = static_cast<std::uint32_t>(random_.below(clients_.size()));
  const base::Duration length = random_.between(lease_time / 2, 4 * lease_time);
  trace_.add(index, {}, "falls silent for {} ms", std::chrono::duration_cast<milliseconds>(length).count());
  clients_[index]->fall_silent(scheduler_.now() + length);
}

void Simulation::reboot_a_client() {
  const auto index = static_cast<std::uint32_t>(random_.below(clients_.size()));
  clients_[index]->crash();
  boot(index);
}

void Simulation::place_a_file() {
  const auto index = static_cast<std::uint32_t>(random_.below(world_.files.size()));
  if (network_.server() == nullptr) return;
  trace_.add({}, index, "is placed anew");
  server()->place(world_.files[index]);
}

void Simulation::hoard() {
  if (server() == nullptr) return;
  trace_.add({}, {}, "clients come, or one goes, that hold very much");
  server()->hoard(hoarded_, ++hoards_);
}

void Simulation::boot(std::uint32_t index) {
  every_client_.push_back(std::make_unique<Client>(world_, traits_[index],
                                                   static_cast<std::uint32_t>(every_client_.size() + 1),
                                                   random_.fork(1000 + every_client_.size())));
  clients_[index] = every_client_.back().get();
  clients_[index]->start();
}

void Simulation::wind_up() {
  if (std::exchange(ending_, true)) return;
  trace_.add({}, {}, "the end");
  patience_ = scheduler_.now() + end_max;
  for (Client* client : clients_) client->crash();
  machine_.forget_fuse();
  if (network_.server() != nullptr) kill_server();
}

bool Simulation::over() {
  if (oracle_.found()) wind_up();
  if (!ending_) return false;
  const bool quiet = servers_.empty() && network_.quiet() &&
                     std::ranges::all_of(every_client_, [](const auto& client) { return client->ended(); });
  if (!quiet && scheduler_.now() > patience_) {
    // What still runs holds on to this; the program ends without tidying up.
    oracle_.violation("end", 0, {}, "a server that was killed does not come to its end");
    return true;
  }
  return quiet;
}

}  // namespace braid::sim
