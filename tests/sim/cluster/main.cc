// braid-pnfs-sim: simulations of a pNFS cluster and its clients, one per seed. docs/simulation.md
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "tests/sim/cluster/simulation.h"
#include "tests/sim/seeds.h"

namespace braid::sim::cluster {
namespace {

// What belongs to the violation: its file, and what befell everybody.
bool belongs(const Trace::Line& line, const Oracle::Violation& violation) {
  if (!line.client || !line.file || !violation.file) return true;
  return *line.file == *violation.file;
}

std::optional<std::string> run(const SimulationOptions& options, bool everything, io::SlabPool& slabs) {
  auto simulation = std::make_unique<Simulation>(options, slabs);
  simulation->run();
  const auto violation = simulation->violation();
  if (options.trace)
    print_lines(simulation->trace(), simulation->began(),
                [&](const Trace::Line& line) { return everything || belongs(line, *violation); });
  if (!violation) return std::nullopt;
  if (!options.trace) fmt::print("seed {}: {}: {}\n", options.seed, violation->checker, violation->text);
  // What does not end cannot be tidied up.
  if (violation->checker == "end") {
    std::fflush(stdout);
    std::_Exit(options.plant == Plant::stuck_job ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  return violation->checker;
}

}  // namespace
}  // namespace braid::sim::cluster

int main(int count, char** values) {
  using namespace braid;
  using namespace braid::sim;
  base::configure_log({.level = base::Level::error, .journal = false});
  const auto arguments = parse_seeds(count, values);
  const auto row = arguments ? cluster::find_plant(arguments->plant) : std::nullopt;
  if (!arguments || (!row && !arguments->plant.empty())) {
    print_usage("braid-pnfs-sim");
    return 2;
  }
  io::SlabPool slabs({.bytes_max = 64 * io::region_bytes, .huge_pages = false});
  const cluster::Plant plant = row ? row->plant : cluster::Plant::none;
  return run_seeds(*arguments, "braid-pnfs-sim", row ? row->checker : "",
                   [&](std::uint64_t seed, bool trace) {
                     return cluster::run({seed, plant, trace}, arguments->trace, slabs);
                   });
}
