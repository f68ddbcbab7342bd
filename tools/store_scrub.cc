// braid store scrub
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/exit_code.h"
#include "store/maintenance/scrubber.h"
#include "tools/store_command.h"
#include "tools/store_tree.h"

namespace braid::tools {
namespace {

int failed(std::string_view why) {
  fmt::print(stderr, "braid store scrub: {}\n", why);
  return base::exit_failed;
}

}  // namespace

int report_scrub(std::uint64_t chunks, std::uint64_t bytes, std::uint64_t bad) {
  fmt::print("{} chunks were read, {} bytes\n", chunks, bytes);
  if (bad == 0) return 0;
  fmt::print("{} PLACES ARE DAMAGED: the log says which; braid check --deep names the files\n", bad);
  return base::exit_failed;
}

int scrub_store(const StoreScrubCommand& command) {
  const auto opened = store::Store::open(
      command.store, {.what = store::OpenFor::writing, .who = user_of_store("braid store scrub")});
  if (!opened) return failed(opened.error());
  const base::SystemClock clock;
  store::Scrubber scrubber(**opened, clock, {});
  scrubber.begin(true);
  const bool draws = ::isatty(STDERR_FILENO) != 0;
  while (scrubber.step()) {
    const store::ScrubReport& now = scrubber.report();
    if (draws)
      fmt::print(stderr, "\r{} containers, {} bytes; {} places are damaged ", now.containers, now.bytes,
                 now.bad);
  }
  if (draws) fmt::print(stderr, "\n");
  const store::ScrubReport& report = scrubber.report();
  if (!report.alarm.empty()) return failed(report.alarm);
  return report_scrub(report.chunks, report.bytes, report.bad);
}

}  // namespace braid::tools
