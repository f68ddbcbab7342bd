// One run of one seed: a metadata server and data servers that die and come back, clients with layouts, and
// what befalls them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "io/slab.h"
#include "tests/sim/cluster/client.h"
#include "tests/sim/cluster/data_host.h"
#include "tests/sim/cluster/medium.h"
#include "tests/sim/cluster/metadata_host.h"
#include "tests/sim/cluster/oracle.h"
#include "tests/sim/cluster/switchboard.h"
#include "tests/sim/cluster/world.h"

namespace braid::sim::cluster {

struct SimulationOptions {
  std::uint64_t seed = 1;
  Plant plant = Plant::none;
  bool trace = false;
};

// run() once.
class Simulation {
 public:
  Simulation(const SimulationOptions& options, io::SlabPool& slabs);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  void run();
  [[nodiscard]] const std::optional<Oracle::Violation>& violation() const { return oracle_.found(); }
  [[nodiscard]] const Trace& trace() const { return trace_; }
  [[nodiscard]] base::TimePoint began() const { return began_; }

 private:
  // A data server, whatever becomes of its processes.
  struct DataServer {
    std::uint32_t number = 0;
    Machine::MountIndex mount = 0;
    std::unique_ptr<Medium> medium;
    std::unique_ptr<Network> network;
    std::unique_ptr<DataHost> alive;
    std::uint32_t lives = 0;
    bool restarting = false;
    std::uint64_t cuts = 0;  // from the metadata server
    base::Duration delay_max = std::chrono::milliseconds(30);
  };

  void add_data_server(std::uint32_t number, const NetworkOptions& network);
  void choose_world();
  void make_troubles();
  // A start that fails in the middle because the power does, now and then. True: it has.
  template <class Start>
  bool fails_while(Machine::MountIndex mount, Start start);
  void start_metadata();
  void note_setattr(std::uint64_t fileid, vfs::LeaseHolder who);
  void kill_metadata();
  void start_data(DataServer& server);
  void kill_data(DataServer& server);
  void now_and_then(base::Duration mean, void (Simulation::*what)());
  void tick();
  // The power of one machine fails: at once, or in the middle of a change on its disk. Then `die`.
  void fail_power(Machine::MountIndex mount, std::function<void()> die, std::function<bool()> still_alive);
  void restart_metadata();
  void restart_data();
  void break_connection();
  // Of one data server and the metadata server from each other.
  void cut_off_servers();
  void cut_off_a_client();
  void silence_a_client();
  void reboot_a_client();
  void shrink_stubs();
  void boot(std::uint32_t index);
  void wind_up();
  [[nodiscard]] bool over();
  [[nodiscard]] bool quiet();

  const SimulationOptions options_;
  io::SlabPool& slabs_;
  Random random_;
  Scheduler scheduler_;
  const base::TimePoint began_;
  Trace trace_;
  Machine machine_;
  Switchboard board_;
  Names names_;
  Machine::MountIndex metadata_mount_;
  Network metadata_network_;
  Oracle oracle_;
  World world_;
  pnfs_mds::StripePolicy policy_;
  std::vector<std::unique_ptr<DataServer>> data_;
  std::unique_ptr<MetadataHost> metadata_;
  bool metadata_restarting_ = false;
  std::int64_t calm_ = 1;  // the times between troubles are so many times as long
  std::vector<std::unique_ptr<MetadataHost>> dead_metadata_;
  std::vector<std::unique_ptr<DataHost>> dead_data_;
  std::vector<ClientTraits> traits_;
  std::vector<Client*> clients_;  // those alive, by index
  std::vector<std::unique_ptr<Client>> every_client_;
  bool ending_ = false;
  base::TimePoint patience_{};  // with the end
};

}  // namespace braid::sim::cluster
