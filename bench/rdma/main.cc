// braid-rdma-bench: what a call over RDMA costs the server's CPU, and what distance costs its bandwidth.
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <string_view>

#include "base/log.h"
#include "bench/rdma/tables.h"

namespace {

constexpr std::string_view usage =
    "Usage: braid-rdma-bench [--cpu|--wan|--short] [--page-ns N]\n\n"
    "Without an option: both tables, on the simulated device.\n"
    "  --cpu        server CPU per call, by strategy of registration and number of threads\n"
    "  --wan        bandwidth by delay, credits and size of segments\n"
    "  --short      a little of both, to see that they work\n"
    "  --page-ns N  what `dynamic` pays to register and deregister a page of 4 KiB (6000: derived from\n"
    "               R. Noronha, PhD, Ohio State 2008, chapter 3)\n"
    "The exit status is 1 if a payload was copied or the bandwidth at 1 ms is below nine tenths.\n";

}  // namespace

int main(int argc, char** argv) {
  braid::bench::CpuTableOptions options;
  bool cpu = true;
  bool wan = true;
  for (int i = 1; i < argc; ++i) {
    const std::string_view what = argv[i];
    const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
    if (what == "--cpu") {
      wan = false;
    } else if (what == "--wan") {
      cpu = false;
    } else if (what == "--short") {
      options.brief = true;
    } else if (what == "--page-ns" && !value.empty() &&
               std::from_chars(value.data(), value.data() + value.size(), options.page_ns).ec ==
                   std::errc{}) {
      ++i;
    } else {
      fmt::print("{}", usage);
      return what == "--help" ? 0 : 2;
    }
  }
  braid::base::configure_log({.level = braid::base::Level::warning});
  bool good = true;
  if (cpu) good = braid::bench::print_cpu_table(options);
  if (cpu && wan) fmt::print("\n");
  if (wan) good = braid::bench::print_wan_table(options.brief) && good;
  return good ? 0 : 1;
}
