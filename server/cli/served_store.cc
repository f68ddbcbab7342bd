#include "server/cli/served_store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <expected>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>

#include "base/exit_code.h"
#include "base/quoting.h"
#include "server/config/units.h"
#include "server/roles/stores/store_commands.h"
#include "tools/store_command.h"

namespace braid::server::cli {
namespace {

using nlohmann::json;

std::uint64_t number_of(const json& object, const char* member) {
  return object.value(member, std::uint64_t{0});
}

// What became of the files; the exit code.
int report_of(const ServedTreeCommand& command, const json& job) {
  const char* const done = command.unseals ? "unsealed" : "sealed";
  fmt::print("{} files {}, {} bytes\n", number_of(job, "done"), done, number_of(job, "done_bytes"));
  if (!command.unseals)
    fmt::print("{} were sealed before, {} have too little to seal\n", number_of(job, "already"),
               number_of(job, "small"));
  if (number_of(job, "in_use") > 0)
    fmt::print("{} are open for writing, or changed meanwhile, and stay as they are\n",
               number_of(job, "in_use"));
  if (number_of(job, "failed") == 0) return 0;
  fmt::print("{} could not be {}; the server's log says why\n", number_of(job, "failed"), done);
  return base::exit_failed;
}

// Asks until the job has ended; returns what it came to.
std::expected<json, std::string> wait_for(const ServerChoice& server, const json& begun,
                                          const std::function<std::string(const json& job)>& progress) {
  const json look{{"command", roles::stores::job_command.name}, {"from", begun.value("job", std::string())}};
  const bool draw = ::isatty(STDERR_FILENO) != 0;
  for (;;) {
    auto job = ask_json(server, look);
    if (!job) return job;
    if (draw) fmt::print(stderr, "\r{} ", progress(*job));
    if (job->value("ended", false)) {
      if (draw) fmt::print(stderr, "\n");
      return job;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

}  // namespace

int act_on_served_tree(const ServedTreeCommand& command) {
  const std::string name = command.unseals ? "braid store unseal" : "braid store seal";
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(command.path, error);
  const auto& what = command.unseals ? roles::stores::unseal_command : roles::stores::seal_command;
  const auto begun =
      ask_json(command.server, {{"command", what.name}, {"path", error ? command.path : path.string()}});
  if (!begun) return failed(name, begun.error());
  const auto job = wait_for(command.server, *begun, [](const json& now) {
    if (const std::uint64_t left = number_of(now, "index_containers_left"); left > 0)
      return fmt::format("the store's index does not know {} containers yet; sealing begins when it does",
                         left);
    return fmt::format("{} files, {}", number_of(now, "files"), config::bytes_text(number_of(now, "bytes")));
  });
  return job ? report_of(command, *job) : failed(name, job.error());
}

int collect_served_garbage(const ServedUpkeepCommand& command) {
  constexpr std::string_view name = "braid store gc";
  const auto begun =
      ask_json(command.server, {{"command", roles::stores::gc_command.name}, {"path", command.store}});
  if (!begun) return failed(name, begun.error());
  const auto job = wait_for(command.server, *begun, [](const json& now) {
    return fmt::format("mark {}: {} files; {} containers removed, {} rewritten", number_of(now, "marks") + 1,
                       number_of(now, "files"), number_of(now, "removed"), number_of(now, "rewritten"));
  });
  if (!job) return failed(name, job.error());
  const std::string alarm = job->value("alarm", std::string());
  if (!alarm.empty()) return failed(name, "nothing is removed: " + alarm);
  if (job->value("stopped", false)) return failed(name, "the server ends");
  fmt::print("{} files refer to {} bytes; {} containers removed, {} bytes\n", number_of(*job, "files"),
             number_of(*job, "live_bytes"), number_of(*job, "removed"), number_of(*job, "removed_bytes"));
  fmt::print("{} containers rewritten, {} bytes moved\n", number_of(*job, "rewritten"),
             number_of(*job, "moved_bytes"));
  if (const std::uint64_t entries = number_of(*job, "entries_dropped"); entries > 0)
    fmt::print("registry written anew without {} entries\n", entries);
  fmt::print("garbage: {} bytes, {} of them in containers that go when they have been kept long enough\n",
             number_of(*job, "garbage_bytes"), number_of(*job, "waiting_bytes"));
  return 0;
}

int scrub_served_store(const ServedUpkeepCommand& command) {
  constexpr std::string_view name = "braid store scrub";
  const auto begun =
      ask_json(command.server, {{"command", roles::stores::scrub_command.name}, {"path", command.store}});
  if (!begun) return failed(name, begun.error());
  const auto job = wait_for(command.server, *begun, [](const json& now) {
    return fmt::format("{} containers, {}; {} places are damaged", number_of(now, "containers"),
                       config::bytes_text(number_of(now, "bytes")), number_of(now, "bad"));
  });
  if (!job) return failed(name, job.error());
  const std::string alarm = job->value("alarm", std::string());
  if (!alarm.empty()) return failed(name, alarm);
  if (job->value("stopped", false)) return failed(name, "the server ends; it goes on with the next start");
  return tools::report_scrub(number_of(*job, "chunks"), number_of(*job, "bytes"), number_of(*job, "bad"));
}

std::string store_text(const json& store) {
  const json gc = store.value("gc", json::object());
  const std::string alarm = gc.value("alarm", std::string());
  const std::uint64_t behind = number_of(store, "index_containers_left");
  const std::uint64_t refused = number_of(store, "opens_refused");
  const std::uint64_t bad = number_of(store.value("scrub", json::object()), "bad_places");
  return fmt::format(
      "Store {} in {}: {} stored; sealed {} files of {}; {} found again; {} files wait, {} failed; {} "
      "garbage{}{}{}{}{}{}\n",
      base::printable(store.value("name", std::string())),
      base::printable(store.value("directory", std::string())),
      config::bytes_text(number_of(store, "stored_bytes")), number_of(store, "files_sealed"),
      config::bytes_text(number_of(store, "bytes_sealed")),
      config::bytes_text(number_of(store, "bytes_found")), number_of(store, "files_waiting"),
      number_of(store, "seals_failed"), config::bytes_text(number_of(gc, "garbage_bytes")),
      store.value("writable", true) ? "" : "; read-only",
      store.value("registry", true) ? "" : "; ITS REGISTRY IS LOST: nothing is sealed",
      behind == 0 ? "" : fmt::format("; the index is behind by {} containers: nothing is sealed now", behind),
      refused == 0 ? "" : fmt::format("; {} opens by other programs refused", refused),
      bad == 0 ? "" : fmt::format("; {} PLACES ARE DAMAGED", bad),
      alarm.empty() ? "" : "; NO GARBAGE IS REMOVED: " + base::printable(alarm));
}

std::string hashing_text(const json& hashing) {
  std::string out = fmt::format("Hashing: {}; {} pieces on cores, {} on cards\n",
                                config::bytes_text(number_of(hashing, "bytes")),
                                number_of(hashing, "jobs_on_cores"), number_of(hashing, "jobs_on_cards"));
  for (const json& card : hashing.value("cards", json::array()))
    out += fmt::format("  card {}: {} pieces, {}; {:.0f} us and {:.1f} GB/s expected; {} failures{}\n",
                       base::printable(card.value("name", std::string())), number_of(card, "jobs"),
                       config::bytes_text(number_of(card, "bytes")), card.value("batch_microseconds", 0.0),
                       card.value("gb_per_second", 0.0), number_of(card, "failures"),
                       card.value("out_of_use", false) ? ", OUT OF USE" : "");
  return out;
}

int show_served_stores(const ServedStoresCommand& command) {
  const auto report = ask_json(command.server, {{"command", "status"}});
  if (!report) return failed("braid store", report.error());
  const json stores = report->value("stores", json::array());
  if (command.json) {
    fmt::print("{}\n", stores.dump(2, ' ', false, json::error_handler_t::replace));
    return 0;
  }
  for (const json& store : stores) fmt::print("{}", store_text(store));
  if (report->contains("hashing")) fmt::print("{}", hashing_text(report->at("hashing")));
  if (stores.empty()) fmt::print("This server has no store.\n");
  return 0;
}

}  // namespace braid::server::cli
