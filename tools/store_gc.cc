// braid store gc, braid store forget
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/exit_code.h"
#include "store/maintenance/collector.h"
#include "tools/store_command.h"
#include "tools/store_tree.h"

namespace braid::tools {
namespace {

int failed(std::string_view command, std::string_view why) {
  fmt::print(stderr, "braid store {}: {}\n", command, why);
  return base::exit_failed;
}

void draw(const store::GcProgress& progress) {
  fmt::print(stderr, "\rmark {}: {} files; {} containers removed, {} rewritten ", progress.marks.load() + 1,
             progress.files.load(), progress.removed.load(), progress.rewritten.load());
}

}  // namespace

int collect_garbage(const StoreGcCommand& command) {
  if (::geteuid() != 0)
    return failed("gc", "needs root: what is sealed is noted in extended attributes trusted.*");
  const auto opened = store::Store::open(
      command.store, {.what = store::OpenFor::writing, .who = user_of_store("braid store gc")});
  if (!opened) return failed("gc", opened.error());
  store::PosixTrees trees(store::open_trees(**opened));
  const base::SystemClock clock;
  store::GcProgress progress;
  const bool draws = ::isatty(STDERR_FILENO) != 0;
  std::jthread drawer([&](const std::stop_token& stop) {
    while (draws && !stop.stop_requested()) {
      draw(progress);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  });
  const store::GcReport report =
      store::Collector(**opened, trees, clock, {.keep_seconds = command.keep_seconds}).run(progress);
  drawer.request_stop();
  drawer.join();
  if (draws) fmt::print(stderr, "\r{:<70}\r", "");
  if (!report.alarm.empty()) return failed("gc", fmt::format("nothing is removed: {}", report.alarm));
  fmt::print("{} files refer to {} bytes; {} containers removed, {} bytes\n", report.files, report.live_bytes,
             report.removed, report.removed_bytes);
  fmt::print("{} containers rewritten, {} bytes moved\n", report.rewritten, report.moved_bytes);
  if (report.entries_dropped > 0)
    fmt::print("registry written anew without {} entries\n", report.entries_dropped);
  fmt::print("garbage: {} bytes, {} of them in containers that go when they have been kept for {} seconds\n",
             report.garbage_bytes, report.waiting_bytes, command.keep_seconds);
  return 0;
}

int forget_tree(const StoreForgetCommand& command) {
  const auto opened = store::Store::open(
      command.store, {.what = store::OpenFor::writing, .who = user_of_store("braid store forget")});
  if (!opened) return failed("forget", opened.error());
  const auto trees = (*opened)->trees();
  if (!trees) return failed("forget", "the store's file trees is damaged or gone");
  const auto found = std::ranges::find_if(*trees, [&](const store::Tree& tree) {
    return !tree.forgotten() && (tree.path == command.tree || tree.file_system == command.tree ||
                                 std::to_string(tree.number) == command.tree);
  });
  if (found == trees->end())
    return failed("forget", fmt::format("the store has no tree {}; braid store --store {} names them",
                                        command.tree, command.store));
  if (auto done = (*opened)->forget_tree(found->number); !done)
    return failed("forget", base::message_of(done.error()));
  fmt::print("forgot tree {}, {}: what its files alone refer to is garbage now\n", found->number,
             found->path);
  return 0;
}

}  // namespace braid::tools
