// braid-sim: simulations of NFSv4 clients and a server, one per seed. docs/simulation.md
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/log.h"
#include "tests/sim/simulation.h"

namespace braid::sim {
namespace {

struct Arguments {
  std::uint64_t from = 1;
  std::uint64_t to = 100;
  bool trace = false;
  std::optional<PlantRow> plant;
};

constexpr std::string_view usage =
    "usage: braid-sim [--seeds FROM..TO | --seed N] [--trace] [--plant NAME]\n"
    "Ends with 1 at the first seed with a violation. With --plant: ends with 0 if the checker that the plant "
    "is\n"
    "for fires within the seeds.\n";

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

bool take_range(std::string_view text, Arguments& out) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return false;
  const auto from = number(text.substr(0, dots));
  const auto to = number(text.substr(dots + 2));
  if (!from || !to || *from > *to) return false;
  out.from = *from;
  out.to = *to;
  return true;
}

bool take(std::string_view option, std::string_view value, Arguments& out) {
  if (option == "--seeds") return take_range(value, out);
  if (option == "--plant") {
    out.plant = find_plant(value);
    return out.plant.has_value();
  }
  const auto seed = number(value);
  if (option != "--seed" || !seed) return false;
  out.from = out.to = *seed;
  return true;
}

std::optional<Arguments> parse(int count, char** values) {
  Arguments out;
  for (int i = 1; i < count; ++i) {
    const std::string_view option = values[i];
    if (option == "--trace") {
      out.trace = true;
    } else if (i + 1 == count || !take(option, values[++i], out)) {
      return std::nullopt;
    }
  }
  return out;
}

// What belongs to the violation: its file and its client, and what befell everybody.
bool belongs(const Trace::Line& line, const Oracle::Violation& violation) {
  if (!line.client) return true;
  if (line.file && violation.file) return *line.file == *violation.file;
  return *line.client == violation.client || !line.file;
}

void print(const Simulation& simulation, bool everything) {
  for (const Trace::Line& line : simulation.trace().lines()) {
    if (!everything && !belongs(line, *simulation.violation())) continue;
    const auto since = std::chrono::duration_cast<std::chrono::microseconds>(line.when - simulation.began());
    fmt::print("{:>12.6f} {}{}{}\n", static_cast<double>(since.count()) / 1e6,
               line.client ? fmt::format("client {} ", *line.client) : "",
               line.file ? fmt::format("file {} ", *line.file) : "", line.text);
  }
}

// Runs a seed; the checker that fired.
std::optional<std::string> run(std::uint64_t seed, const Arguments& arguments, bool trace,
                               io::SlabPool& slabs) {
  const Plant plant = arguments.plant ? arguments.plant->plant : Plant::none;
  auto simulation = std::make_unique<Simulation>(SimulationOptions{seed, plant, trace}, slabs);
  simulation->run();
  const auto violation = simulation->violation();
  if (trace) print(*simulation, arguments.trace);
  if (!violation) return std::nullopt;
  if (!trace) fmt::print("seed {}: {}: {}\n", seed, violation->checker, violation->text);
  // What does not end cannot be tidied up.
  if (violation->checker == "end") {
    std::fflush(stdout);
    std::_Exit(plant == Plant::stuck_job ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  return violation->checker;
}

int run_all(const Arguments& arguments) {
  io::SlabPool slabs({.bytes_max = 64 * io::region_bytes, .huge_pages = false});
  for (std::uint64_t seed = arguments.from; seed <= arguments.to; ++seed) {
    const auto fired = run(seed, arguments, arguments.trace, slabs);
    if (!fired) continue;
    if (arguments.plant && *fired == arguments.plant->checker) return EXIT_SUCCESS;
    if (arguments.plant) continue;
    if (!arguments.trace) (void)run(seed, arguments, true, slabs);
    fmt::print("replay: braid-sim --seed {} --trace\n", seed);
    return EXIT_FAILURE;
  }
  if (!arguments.plant) {
    fmt::print("seeds {} to {}: no violation\n", arguments.from, arguments.to);
    return EXIT_SUCCESS;
  }
  fmt::print("{}: the checker {} did not fire\n", arguments.plant->name, arguments.plant->checker);
  return EXIT_FAILURE;
}

}  // namespace
}  // namespace braid::sim

int main(int count, char** values) {
  using namespace braid;
  base::configure_log({.level = base::Level::error, .journal = false});
  const auto arguments = sim::parse(count, values);
  if (!arguments) {
    std::fputs(sim::usage.data(), stderr);
    return 2;
  }
  return sim::run_all(*arguments);
}
