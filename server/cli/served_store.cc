#include "server/cli/served_store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>

#include "base/exit_code.h"
#include "base/quoting.h"
#include "server/config/units.h"
#include "server/roles/stores/store_commands.h"

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

}  // namespace

int act_on_served_tree(const ServedTreeCommand& command) {
  const std::string name = command.unseals ? "braid store unseal" : "braid store seal";
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(command.path, error);
  const auto& what = command.unseals ? roles::stores::unseal_command : roles::stores::seal_command;
  const auto begun =
      ask_json(command.server, {{"command", what.name}, {"path", error ? command.path : path.string()}});
  if (!begun) return failed(name, begun.error());
  const json look{{"command", roles::stores::job_command.name}, {"from", begun->value("job", std::string())}};
  const bool draw = ::isatty(STDERR_FILENO) != 0;
  for (;;) {
    const auto job = ask_json(command.server, look);
    if (!job) return failed(name, job.error());
    if (draw)
      fmt::print(stderr, "\r{} files, {} ", number_of(*job, "files"),
                 config::bytes_text(number_of(*job, "bytes")));
    if (job->value("ended", false)) {
      if (draw) fmt::print(stderr, "\n");
      return report_of(command, *job);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

std::string store_text(const json& store) {
  return fmt::format(
      "Store {} in {}: {} stored; sealed {} files of {}; {} found again; {} files wait, {} failed{}{}\n",
      base::printable(store.value("name", std::string())),
      base::printable(store.value("directory", std::string())),
      config::bytes_text(number_of(store, "stored_bytes")), number_of(store, "files_sealed"),
      config::bytes_text(number_of(store, "bytes_sealed")),
      config::bytes_text(number_of(store, "bytes_found")), number_of(store, "files_waiting"),
      number_of(store, "seals_failed"), store.value("writable", true) ? "" : "; read-only",
      store.value("registry", true) ? "" : "; ITS REGISTRY IS LOST: nothing is sealed");
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
