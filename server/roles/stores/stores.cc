#include "server/roles/stores/stores.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "base/quoting.h"
#include "server/patience.h"
#include "server/process.h"
#include "server/roles/stores/paths.h"

namespace braid::server::roles::stores {
namespace {

// Whether any client may write to files of this store: others can be on a medium that is read-only.
bool writes(const config::Config& config, const std::string& store) {
  return std::ranges::any_of(
      config.exports, [&](const config::ExportConfig& one) { return one.store == store && one.writable(); });
}

store::OpenFor use_of(const config::Config& config, const config::StoreConfig& wanted) {
  if (!writes(config, wanted.name)) return store::OpenFor::reading;
  return wanted.make ? store::OpenFor::creating : store::OpenFor::writing;
}

// Clients would see the store's own files, and root among them its key.
std::string mistake_about_place(const config::Config& config, const config::StoreConfig& store) {
  const auto around = std::ranges::find_if(config.exports, [&](const config::ExportConfig& one) {
    return lies_in(whole_path(store.directory), whole_path(one.directory));
  });
  if (around == config.exports.end()) return {};
  return fmt::format(
      "the store {} lies in {}, which is exported as {}; clients would see its key: put it elsewhere",
      store.directory, around->directory, around->path);
}

}  // namespace

std::expected<void, std::string> Stores::add(const config::StoreConfig& wanted, store::OpenFor what,
                                             const config::Limits& limits, const base::Clock& clock) {
  if (!may_keep_trusted_attributes())
    return std::unexpected(
        "a store needs root (CAP_SYS_ADMIN): what is sealed is noted in an extended attribute trusted.*; "
        "start braid "
        "as root, or do without stores");
  Patience patience(clock, fmt::format("the store {}", wanted.directory), limits.drain_seconds);
  auto opened = store::Store::open(wanted.directory,
                                   {.what = what,
                                    .who = fmt::format("braid serve (process {})", ::getpid()),
                                    .wait = [&](std::string_view user) { return patience.lasts(user); },
                                    .compression = wanted.compression,
                                    .similarity = wanted.similarity,
                                    .for_benchmarks = config::is_for_benchmarks(wanted.hashing),
                                    .index_later = true});
  if (!opened) return std::unexpected(fmt::format("the store {}: {}", wanted.name, opened.error()));
  Entry& entry = by_name_[wanted.name];
  entry.store = std::move(*opened);
  entry.source = std::make_unique<store::StoreSource>(*entry.store);
  config::StoreConfig used = wanted;
  if (used.window_bytes_max == 0) used.window_bytes_max = limits.buffer_bytes_max / 4;
  entry.worker =
      std::make_unique<StoreWorker>(used, *entry.store, *entry.source, hashing_.hash_as(wanted.hashing));
  entry.upkeep = std::make_unique<Upkeep>(wanted, *entry.store, *entry.source);
  if (!wanted.guard) return {};
  auto guard = store::OpenGuard::start();
  if (!guard)
    return std::unexpected(fmt::format(
        "the store {}: guard = true needs fanotify(7) of the kernel and CAP_SYS_ADMIN: {}; write guard = "
        "false to do without",
        wanted.name, base::message_of(guard.error())));
  entry.guard = std::move(*guard);
  return {};
}

std::expected<void, std::string> Stores::watch(const std::string& name, const Entry& entry,
                                               const std::string& directory) {
  if (entry.guard == nullptr) return {};
  if (const auto watched = entry.guard->watch(directory); !watched)
    return std::unexpected(
        fmt::format("the store {}: guard = true does not work for {}: {}; write guard = false to do without",
                    name, directory, base::message_of(watched.error())));
  return {};
}

void Stores::log_refusals(const std::string& name, store::OpenGuard& guard) {
  for (const store::OpenGuard::Refusal& one : guard.take_refusals())
    base::log_event(base::Level::warning, "store_open_refused",
                    "store={} fileid={}: {} (process {}) would read zeros in it; use a mount of the export",
                    name, one.fileid, base::printable(one.program), one.process);
}

std::expected<std::shared_ptr<Stores>, std::string> Stores::open(const config::Config& config,
                                                                 const base::Clock& clock) {
  auto out = std::make_shared<Stores>();
  for (const config::StoreConfig& wanted : config.stores) {
    if (std::ranges::find(config.data_servers, wanted.name, &config::DataServerConfig::store) !=
        config.data_servers.end())
      continue;
    if (std::string mistake = mistake_about_place(config, wanted); !mistake.empty())
      return std::unexpected(std::move(mistake));
    if (auto added = out->add(wanted, use_of(config, wanted), config.limits, clock); !added)
      return std::unexpected(std::move(added.error()));
    for (const config::ExportConfig& one : config.exports)
      if (one.store == wanted.name)
        if (auto watched = watch(wanted.name, out->by_name_.at(wanted.name), one.directory); !watched)
          return std::unexpected(std::move(watched.error()));
  }
  if (out->by_name_.empty()) return nullptr;
  return out;
}

std::expected<std::shared_ptr<Stores>, std::string> Stores::open(const config::Config& config,
                                                                 const config::DataServerConfig& own,
                                                                 const base::Clock& clock) {
  const auto wanted = std::ranges::find(config.stores, own.store, &config::StoreConfig::name);
  base::check(wanted != config.stores.end(), "a data server's store is one of the configuration");
  if (std::string mistake = mistake_about_place(config, *wanted); !mistake.empty())
    return std::unexpected(std::move(mistake));
  if (lies_in(whole_path(wanted->directory), whole_path(own.directory)))
    return std::unexpected(
        fmt::format("the store {} lies in the data server's directory {}: put it elsewhere",
                    wanted->directory, own.directory));
  auto out = std::make_shared<Stores>();
  const store::OpenFor what = wanted->make ? store::OpenFor::creating : store::OpenFor::writing;
  if (auto added = out->add(*wanted, what, config.limits, clock); !added)
    return std::unexpected(std::move(added.error()));
  if (auto watched = watch(wanted->name, out->by_name_.at(wanted->name), own.directory); !watched)
    return std::unexpected(std::move(watched.error()));
  return out;
}

ServedStore Stores::served(const std::string& name, const Entry& entry) {
  return {
      name, entry.store.get(), entry.source.get(), entry.worker.get(), entry.upkeep.get(), entry.guard.get()};
}

std::vector<vfs::ContentSource*> Stores::sources(const config::ExportConfig& config) {
  std::vector<vfs::ContentSource*> out;
  for (auto& [name, entry] : by_name_) {
    if (name == config.store) {
      // One that a reload brings: those of the beginning are watched already.
      if (const auto watched = watch(name, entry, config.directory); !watched)
        base::log_event(base::Level::error, "store_guard_failed", "{}", watched.error());
      entry.worker->add_export(config);
      out.push_back(entry.source.get());
    } else {
      entry.worker->add_other(config);
    }
  }
  return out;
}

void Stores::join(const Shared& shared, nfs4::EngineParts& /*parts*/) {
  exports_ = &shared.exports;
  clock_ = &shared.clock;
  for (auto& [name, entry] : by_name_) {
    entry.source->use(shared.pool, "store " + name);
    register_metrics(shared.metrics, served(name, entry));
  }
  hashing_.register_metrics(shared.metrics);
}

void Stores::start(std::span<const std::unique_ptr<ServerThread>> threads, nfs4::Nfs4Engine& /*engine*/) {
  for (auto& [name, entry] : by_name_) {
    entry.worker->start(threads.front()->reactor(), *exports_, *clock_);
    entry.upkeep->start(*clock_);
    if (entry.guard == nullptr)
      base::log_event(
          base::Level::info, "store_without_guard",
          "store={}: other programs on this machine read zeros in sealed files; with guard = true they "
          "cannot open them",
          name);
  }
}

io::Op<> Stores::tick() {
  for (auto& [name, entry] : by_name_) {
    if (entry.guard != nullptr) log_refusals(name, *entry.guard);
    if (!entry.store->writable()) continue;
    entry.worker->wake();
    entry.upkeep->look();
  }
  co_return;
}

bool Stores::takes_pipes() const {
  return std::ranges::none_of(by_name_,
                              [](const auto& one) { return one.second.source->windows() != nullptr; });
}

// What is let go has no windows then; one that begins after that is closed when it is idle.
io::Op<bool> Stores::take_back(vfs::ExportId /*from*/) {
  for (auto& [name, entry] : by_name_) co_await entry.worker->close_windows();
  co_return false;
}

io::Op<> Stores::close() {
  for (auto& [name, entry] : by_name_) {
    entry.upkeep->stop();
    co_await entry.worker->close();
  }
  hashing_.stop();
}

void Stores::describe(std::vector<admin::AdminCommand>& commands) {
  std::vector<ServedStore> all;
  all.reserve(by_name_.size());
  for (const auto& [name, entry] : by_name_) all.push_back(served(name, entry));
  for (admin::AdminCommand& command : store_commands(all)) commands.push_back(std::move(command));
}

void Stores::report(nlohmann::json& members) const {
  for (const auto& [name, entry] : by_name_) add_store(members, served(name, entry));
  hashing_.report(members);
}

}  // namespace braid::server::roles::stores
