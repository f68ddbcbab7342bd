// One run of one seed: a server that dies and comes back, its clients, and what befalls them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "io/slab.h"
#include "tests/sim/client.h"
#include "tests/sim/door.h"
#include "tests/sim/machine.h"
#include "tests/sim/network.h"
#include "tests/sim/oracle.h"
#include "tests/sim/plant.h"
#include "tests/sim/random.h"
#include "tests/sim/scheduler.h"
#include "tests/sim/server.h"
#include "tests/sim/trace.h"

namespace braid::sim {

struct SimulationOptions {
  std::uint64_t seed = 1;
  Plant plant = Plant::none;
  bool trace = false;
};

// run() once.
class Simulation {
 public:
  // `slabs`: for the server; may serve one simulation after the other.
  Simulation(const SimulationOptions& options, io::SlabPool& slabs);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  void run();
  [[nodiscard]] const std::optional<Oracle::Violation>& violation() const { return oracle_.found(); }
  [[nodiscard]] const Trace& trace() const { return trace_; }
  [[nodiscard]] base::TimePoint began() const { return began_; }

 private:
  void start_server();
  // Null: it is down.
  [[nodiscard]] Server* server() const {
    return network_.server() == nullptr ? nullptr : servers_.back().get();
  }
  void kill_server();
  // Sooner or later again and again: `what`, first after a random part of `mean`.
  void now_and_then(base::Duration mean, void (Simulation::*what)());
  void tick();
  void restart_soon();
  void break_connection();
  void cut_off_a_client();
  void silence_a_client();
  void reboot_a_client();
  void place_a_file();
  void hoard();
  void boot(std::uint32_t index);
  void wind_up();
  [[nodiscard]] bool over();

  const SimulationOptions options_;
  io::SlabPool& slabs_;
  Random random_;
  Scheduler scheduler_;
  const base::TimePoint began_;
  Trace trace_;
  Machine machine_;
  Files files_;
  Network network_;
  Oracle oracle_;
  World world_;
  std::vector<ClientTraits> traits_;
  std::vector<Client*> clients_;  // those alive, by index
  std::vector<std::unique_ptr<Client>> every_client_;
  std::vector<std::unique_ptr<Server>> servers_;  // the last one may be alive
  std::uint32_t lives_ = 0;
  std::uint64_t hoards_ = 0;
  std::uint64_t hoarded_ = 0;  // the file
  bool restarting_ = false;
  bool ending_ = false;
  base::TimePoint patience_{};  // with the end
};

}  // namespace braid::sim
