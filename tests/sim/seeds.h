// What the programs of the simulations have in common: a run per seed, and what is printed of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "tests/sim/trace.h"

namespace braid::sim {

struct SeedArguments {
  std::uint64_t from = 1;
  std::uint64_t to = 100;
  bool trace = false;
  std::string plant;  // empty: none
};

// Nothing: they make no sense.
std::optional<SeedArguments> parse_seeds(int count, char** values);
// How the program is called.
void print_usage(std::string_view program);

// Lines of a trace that `wanted` holds for.
void print_lines(const Trace& trace, base::TimePoint began,
                 const std::function<bool(const Trace::Line&)>& wanted);

// Runs a seed, and prints the trace or the violation; the checker that fired, or nothing.
using RunSeed = std::function<std::optional<std::string>(std::uint64_t seed, bool trace)>;
// The exit status of the program. `checker`: that is to fire because of the plant; empty: there is none.
int run_seeds(const SeedArguments& arguments, std::string_view program, std::string_view checker,
              const RunSeed& run);

}  // namespace braid::sim
