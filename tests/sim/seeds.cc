#include "tests/sim/seeds.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace braid::sim {
namespace {

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

bool take_range(std::string_view text, SeedArguments& out) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return false;
  const auto from = number(text.substr(0, dots));
  const auto to = number(text.substr(dots + 2));
  if (!from || !to || *from > *to) return false;
  out.from = *from;
  out.to = *to;
  return true;
}

bool take(std::string_view option, std::string_view value, SeedArguments& out) {
  if (option == "--seeds") return take_range(value, out);
  if (option == "--plant") {
    out.plant = value;
    return !value.empty();
  }
  const auto seed = number(value);
  if (option != "--seed" || !seed) return false;
  out.from = out.to = *seed;
  return true;
}

}  // namespace

std::optional<SeedArguments> parse_seeds(int count, char** values) {
  SeedArguments out;
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

void print_usage(std::string_view program) {
  fmt::print(
      stderr,
      "usage: {} [--seeds FROM..TO | --seed N] [--trace] [--plant NAME]\n"
      "Ends with 1 at the first seed with a violation. With --plant: ends with 0 if the checker that the "
      "plant is\n"
      "for fires within the seeds.\n",
      program);
}

void print_lines(const Trace& trace, base::TimePoint began,
                 const std::function<bool(const Trace::Line&)>& wanted) {
  for (const Trace::Line& line : trace.lines()) {
    if (!wanted(line)) continue;
    const auto since = std::chrono::duration_cast<std::chrono::microseconds>(line.when - began);
    fmt::print("{:>12.6f} {}{}{}\n", static_cast<double>(since.count()) / 1e6,
               line.client ? fmt::format("client {} ", *line.client) : "",
               line.file ? fmt::format("file {} ", *line.file) : "", line.text);
  }
}

int run_seeds(const SeedArguments& arguments, std::string_view program, std::string_view checker,
              const RunSeed& run) {
  for (std::uint64_t seed = arguments.from; seed <= arguments.to; ++seed) {
    const auto fired = run(seed, arguments.trace);
    if (!fired) continue;
    if (!checker.empty() && *fired == checker) return EXIT_SUCCESS;
    if (!checker.empty()) continue;
    if (!arguments.trace) (void)run(seed, true);
    fmt::print("replay: {} --seed {} --trace\n", program, seed);
    return EXIT_FAILURE;
  }
  if (checker.empty()) {
    fmt::print("seeds {} to {}: no violation\n", arguments.from, arguments.to);
    return EXIT_SUCCESS;
  }
  fmt::print("{}: the checker {} did not fire\n", arguments.plant, checker);
  return EXIT_FAILURE;
}

}  // namespace braid::sim
