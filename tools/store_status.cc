// braid store
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <vector>

#include "base/exit_code.h"
#include "tools/store_command.h"
#include "tools/store_tree.h"

namespace braid::tools {
namespace {

struct StoreReport {
  std::uint64_t files = 0, logical = 0;  // of the last entry of each inode
  std::uint64_t damaged_entries = 0;
  bool registry = false;
  std::uint64_t containers = 0, stored = 0;
  std::uint64_t index_entries = 0;
  store::Marks marks;       // of the last mark
  store::ScrubState scrub;  // of the last scrub

  [[nodiscard]] double ratio() const {
    return stored == 0 ? 1.0 : static_cast<double>(logical) / static_cast<double>(stored);
  }
};

base::Result<StoreReport> report_of(store::Store& store) {
  StoreReport out;
  const auto numbers = store.containers().numbers();
  const auto stored = store.containers().bytes();
  if (!numbers) return base::fail(numbers.error());
  if (!stored) return base::fail(stored.error());
  out.containers = numbers->size();
  out.stored = *stored;
  out.index_entries = store.index() == nullptr ? 0 : store.index()->entries_about();
  out.registry = store.registry() != nullptr;
  out.marks = store.marks();
  out.scrub = store.scrub_state();
  if (!out.registry) return out;
  std::unordered_map<store::FileKey, std::uint64_t> logical;
  const auto damaged = store.registry()->walk([&](const store::RegistryEntry& entry) {
    if (entry.kind == store::RegistryKind::sealed)
      logical.insert_or_assign(store::FileKey::of(entry), entry.logical);
    if (entry.kind == store::RegistryKind::unsealed) logical.erase(store::FileKey::of(entry));
  });
  if (!damaged) return base::fail(damaged.error());
  out.damaged_entries = *damaged;
  out.files = logical.size();
  for (const auto& [key, bytes] : logical) out.logical += bytes;
  return out;
}

std::vector<store::Tree> known_trees(store::Store& store) {
  auto out = store.trees().value_or(std::vector<store::Tree>());
  std::erase_if(out, [](const store::Tree& tree) { return tree.forgotten(); });
  return out;
}

void print_report_json(store::Store& store, const StoreReport& report) {
  nlohmann::json out{{"directory", store.directory()},
                     {"id", store::hex_text(store.format().store)},
                     {"version", store::FormatFile::version},
                     {"files", report.files},
                     {"logical_bytes", report.logical},
                     {"stored_bytes", report.stored},
                     {"ratio", report.ratio()},
                     {"containers", report.containers},
                     {"index_entries", report.index_entries},
                     {"marked", report.marks.marked},
                     {"garbage_bytes", report.marks.garbage},
                     {"scrub_ended", report.scrub.ended},
                     {"bad_places", report.scrub.bad.size()},
                     {"registry_damaged_entries", report.damaged_entries},
                     {"registry", report.registry}};
  nlohmann::json trees = nlohmann::json::array();
  for (const store::Tree& tree : known_trees(store))
    trees.push_back({{"number", tree.number}, {"file_system", tree.file_system}, {"path", tree.path}});
  out["trees"] = trees;
  // A path need not be UTF-8.
  fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

void print_report(store::Store& store, const StoreReport& report) {
  fmt::print("store      {}\n", store.directory());
  fmt::print("sealed     {} files, {} bytes\n", report.files, report.logical);
  fmt::print("stored     {} bytes in {} containers\n", report.stored, report.containers);
  fmt::print("ratio      {:.2f}\n", report.ratio());
  fmt::print("index      about {} chunks\n", report.index_entries);
  if (report.marks.marked > 0)
    fmt::print("garbage    {} bytes when braid store gc looked last\n", report.marks.garbage);
  if (!report.scrub.bad.empty())
    fmt::print("{} PLACES WERE DAMAGED when they were read last: braid check --deep names the files\n",
               report.scrub.bad.size());
  for (const store::Tree& tree : known_trees(store))
    fmt::print("tree {:<5} {} ({})\n", tree.number, tree.path, tree.file_system);
  if (!report.registry) fmt::print("the registry is damaged or gone: nothing can be sealed\n");
  if (report.damaged_entries > 0)
    fmt::print("{} entries of the registry are damaged\n", report.damaged_entries);
}

}  // namespace

int show_store(const StoreStatusCommand& command) {
  const auto opened = store::Store::open(
      command.store, {.what = store::OpenFor::reading, .who = user_of_store("braid store")});
  if (!opened) {
    fmt::print(stderr, "braid store: {}\n", opened.error());
    return base::exit_failed;
  }
  const auto report = report_of(**opened);
  if (!report) {
    fmt::print(stderr, "braid store: {}: {}\n", command.store, base::message_of(report.error()));
    return base::exit_failed;
  }
  if (command.json)
    print_report_json(**opened, *report);
  else
    print_report(**opened, *report);
  return 0;
}

}  // namespace braid::tools
