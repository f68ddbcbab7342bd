#include "server/export_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/quoting.h"
#include "server/contents_mark.h"
#include "server/nested_mounts.h"
#include "vfs/network.h"
#include "vfs/posix/directory_identity.h"
#include "vfs/unavailable.h"

namespace braid::server {
namespace {

std::string registry_trouble(const config::ExportConfig& config, base::Errno error) {
  return fmt::format("cannot keep the handle key of the export {} in the state directory: {}", config.path,
                     base::message_of(error));
}

std::string other_text(const vfs::Registration& registered, const vfs::DirectoryIdentity& found,
                       const config::ExportConfig& config) {
  return fmt::format(
      "{} leads to another directory than before (it was {} on {}, is {} on {}); if that is meant: "
      "braid export accept {}",
      config.directory, registered.kept.directory, registered.kept.file_system, found.directory,
      found.file_system, config.path);
}

std::string missing_text(const config::ExportConfig& config, base::Errno error) {
  return fmt::format("{} cannot be opened: {}", config.directory, base::message_of(error));
}

void log_standing(const ExportSet::Entry& entry) {
  if (entry.unavailable.empty())
    base::log_event(base::Level::info, "export_available", "export={} directory={}", entry.config.path,
                    entry.config.directory);
  else
    base::log_event(base::Level::error, "export_unavailable", "export={}: {}", entry.config.path,
                    entry.unavailable);
}

// A device number may be another one after the next start, and then the export is not recognised.
void warn_of_device(const ExportSet::Entry& entry) {
  if (entry.registered.kept.kind() != "device") return;
  base::log_event(base::Level::warning, "export_without_uuid",
                  "export={}: its file system has no UUID, and is recognised by its device number {}; give "
                  "the export an 'fsid'",
                  entry.config.path, entry.registered.kept.file_system);
}

vfs::ExportRule rule_of(const config::RuleConfig& config) {
  vfs::ExportRule out;
  out.squash = config.squash;
  out.anon_uid = config.anon_uid;
  out.anon_gid = config.anon_gid;
  out.read_only = config.read_only;
  for (const std::string& network : config.clients)
    out.clients.push_back(vfs::Network::parse(network).value());
  return out;
}

vfs::Export exported(const ExportSet::Entry& entry) {
  const config::ExportConfig& config = entry.config;
  vfs::Export offered;
  offered.id = entry.registered.identity.id;
  offered.path = config.path;
  static_cast<vfs::ExportRule&>(offered) = rule_of(config);
  for (const config::RuleConfig& rule : config.rules) offered.rules.push_back(rule_of(rule));
  if (entry.unavailable.empty())
    offered.file_system = entry.file_system;
  else if (entry.suspended)
    offered.file_system = std::make_shared<vfs::UnavailableFileSystem>(
        entry.registered, vfs::UnavailableFileSystem::LetGo{entry.let_go});
  else
    offered.file_system = std::make_shared<vfs::UnavailableFileSystem>(entry.registered, entry.file_system);
  return offered;
}

std::string no_export(std::string_view export_path) {
  return fmt::format("there is no export {}", export_path);
}

}  // namespace

std::string nested_mount_text(std::string_view export_path, std::string_view mount_point) {
  return fmt::format(
      "{} is another file system, and clients of {} see an empty directory there; export it by itself: "
      "[[export]] with directory = \"{}\"",
      mount_point, export_path, mount_point);
}

// Of an export that was suspended: how many files are kept for the sake of unsynced bytes alone.
std::size_t kept_unsynced(const ExportSet::Entry& entry) {
  const auto unsynced = entry.unsynced.lock();
  return entry.let_go.expired() && unsynced != nullptr ? unsynced->kept() : 0;
}

std::string held_text(const ExportSet::Entry& entry) {
  if (const std::size_t files = kept_unsynced(entry); files > 0)
    return fmt::format(
        "its disk is in use by files whose bytes are not all on it yet ({} of them); they are being synced",
        files);
  const auto held = entry.let_go.lock();
  if (held == nullptr) return {};
  return fmt::format(
      "its disk is in use by what clients have open there ({} descriptors): braid opens and braid "
      "delegations name it; "
      "resume the export to let them close it, or use braid client evict",
      held->stats().cache.descriptors);
}

ExportSet::ExportSet(const ExportResources& resources, vfs::ExportRegistry registry)
    : resources_(resources),
      descriptors_(std::make_shared<vfs::posix::DescriptorPool>(resources.open_files_max)),
      registry_(std::move(registry)),
      exports_(std::make_shared<const vfs::ExportTable>(std::vector<vfs::Export>{})) {}

std::expected<void, std::string> ExportSet::apply(const std::vector<config::ExportConfig>& exports) {
  std::vector<Entry> entries;
  for (const config::ExportConfig& config : exports) {
    auto offered = offer(config);
    if (!offered) return std::unexpected(std::move(offered.error()));
    entries.push_back(std::move(*offered));
  }
  entries_ = std::move(entries);
  publish();
  warn_of_nested_mounts();
  return {};
}

std::map<std::string, std::vector<std::string>> ExportSet::nested_mounts() const {
  std::vector<std::string> directories;
  directories.reserve(entries_.size());
  for (const Entry& entry : entries_) directories.push_back(entry.config.directory);
  auto found = mounts_below(directories);
  std::map<std::string, std::vector<std::string>> out;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (!found[i].empty()) out.emplace(entries_[i].config.path, std::move(found[i]));
  return out;
}

void ExportSet::warn_of_nested_mounts() const {
  for (const auto& [path, points] : nested_mounts())
    for (const std::string& point : points)
      base::log_event(base::Level::warning, "nested_mount", "export={}: {}", path,
                      nested_mount_text(path, point));
}

void ExportSet::publish() {
  std::vector<vfs::Export> table;
  table.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    vfs::posix::OpensOptions& opens = *opens_of(entry);
    opens.read_only = !entry.config.writable();
    opens.sync = entry.config.sync;
    table.push_back(exported(entry));
  }
  exports_.replace(std::make_shared<const vfs::ExportTable>(std::move(table)));
}

std::shared_ptr<vfs::posix::OpensOptions>& ExportSet::opens_of(const Entry& entry) {
  auto& opens = opens_[entry.registered.identity.id];
  if (opens == nullptr)
    opens = std::make_shared<vfs::posix::OpensOptions>(!entry.config.writable(), entry.config.sync);
  return opens;
}

const ExportSet::Entry* ExportSet::same_file_system(const config::ExportConfig& config) const {
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.config.path == config.path && entry.config.directory == config.directory &&
           entry.config.writable() == config.writable() && entry.config.sync == config.sync &&
           entry.config.fsid == config.fsid && entry.config.data == config.data;
  });
  return found == entries_.end() ? nullptr : &*found;
}

std::expected<ExportSet::Entry, std::string> ExportSet::offer(const config::ExportConfig& config) {
  if (const Entry* kept = same_file_system(config)) {
    Entry entry = *kept;
    entry.config = config;
    return entry;
  }
  if (const Entry* old = find(config.path);
      old != nullptr && old->suspended && old->config.directory == config.directory) {
    Entry entry = *old;
    entry.config = config;
    return entry;
  }
  Entry entry{};
  entry.config = config;
  if (auto opened = open(entry); !opened) return std::unexpected(std::move(opened.error()));
  if (!entry.unavailable.empty()) log_standing(entry);
  warn_of_device(entry);
  return entry;
}

// What is at the directory now is looked at before it is served, and again as it was opened.
std::expected<void, std::string> ExportSet::open(Entry& entry) {
  const config::ExportConfig& config = entry.config;
  const auto found = vfs::posix::directory_identity(config.directory, config.fsid);
  auto registered = registry_.look_up(config.path, config.directory, found ? &*found : nullptr);
  if (!registered && !found && registered.error() == base::errno_of(ENOENT)) {
    if (config.line == 0)
      return std::unexpected(
          fmt::format("cannot serve {}: {}", config.directory, base::message_of(found.error())));
    registered = registry_.reserve(config.path, config.directory);
  }
  if (!registered) return std::unexpected(registry_trouble(config, registered.error()));
  entry.registered = std::move(*registered);
  entry.seen.reset();
  if (found) entry.seen = *found;
  if (!entry.registered.in_place) {
    entry.unavailable =
        found ? other_text(entry.registered, *found, config) : missing_text(config, found.error());
    return {};
  }
  vfs::posix::PosixOptions options;
  options.directory = config.directory;
  options.tree.id = entry.registered.identity.id;
  options.tree.key = entry.registered.identity.key;
  options.tree.export_path = config.path;
  options.tree.read_only = !config.writable();
  options.tree.sync = config.sync;
  options.tree.opens = opens_of(entry);
  options.tree.write_backs = write_backs_;
  options.tree.cache.pool = descriptors_;
  options.tree.root.fsid = config.fsid;
  if (resources_.contents.of) options.sources = resources_.contents.of(config);
  if (auto marked = mark_contents(config.directory, options.sources); !marked)
    return std::unexpected(std::move(marked.error()));
  options.pool = &resources_.pool;
  options.slabs = &resources_.slabs;
  auto opened = vfs::posix::PosixFileSystem::open(options, resources_.clock);
  if (!opened)
    return std::unexpected(
        fmt::format("cannot serve {}: {}", config.directory, base::message_of(opened.error())));
  if (!entry.registered.kept.names((*opened)->offers())) {
    entry.unavailable = other_text(entry.registered, (*opened)->offers(), config);
    entry.seen = (*opened)->offers();
    return {};
  }
  entry.file_system = std::move(*opened);
  entry.unavailable.clear();
  return {};
}

bool ExportSet::look_at(Entry& entry) {
  if (entry.suspended) return false;
  const std::string before = entry.unavailable;
  const auto served = entry.file_system;
  if (entry.file_system != nullptr && entry.file_system->in_place()) {
    entry.unavailable.clear();
  } else {
    const auto found = vfs::posix::directory_identity(entry.config.directory, entry.config.fsid);
    // The registry is asked only about what it was not asked about.
    const bool same = found ? entry.seen && entry.seen->file_system == found->file_system &&
                                  entry.seen->directory == found->directory
                            : !entry.seen;
    if (!before.empty() && same) return false;
    if (auto opened = open(entry); !opened) {
      entry.unavailable = std::move(opened.error());
      entry.seen.reset();  // to be tried again
    }
  }
  if (before == entry.unavailable && served == entry.file_system) return false;
  log_standing(entry);
  return true;
}

void ExportSet::sweep() {
  bool changed = false;
  for (Entry& entry : entries_) {
    changed = look_at(entry) || changed;
    if (entry.file_system != nullptr) entry.file_system->sweep();
  }
  if (changed) publish();
}

io::Op<> ExportSet::let_go_unserved() const {
  const auto all = write_backs_->unserved();
  if (all.empty()) co_return;
  const auto let_go = [&all] {
    for (const auto& one : all) one->let_go_kept();
    return true;
  };
  // When the pool takes no more of it, the next sweep comes to it.
  (void)co_await resources_.pool.own().run_for_all(*io::Reactor::current(), io::BlockingReason::sync, let_go);
}

ExportSet::Entry* ExportSet::find(std::string_view export_path) {
  const auto entry = std::ranges::find(entries_, export_path,
                                       [](const Entry& e) -> std::string_view { return e.config.path; });
  return entry == entries_.end() ? nullptr : &*entry;
}

std::expected<std::string, std::string> ExportSet::suspend(std::string_view export_path) {
  Entry* const entry = find(export_path);
  if (entry == nullptr) return std::unexpected(no_export(export_path));
  if (!entry->suspended) {
    entry->suspended = true;
    entry->unavailable = fmt::format("it is suspended; to serve it again: braid export resume {}",
                                     base::shell_word(entry->config.path));
    if (entry->file_system != nullptr) entry->unsynced = entry->file_system->tree().shared_write_back();
    entry->let_go = std::exchange(entry->file_system, nullptr);
    entry->seen.reset();
    log_standing(*entry);
    publish();
  }
  return held_text(*entry);
}

bool ExportSet::is_syncing(std::string_view export_path) {
  const Entry* const entry = find(export_path);
  return entry != nullptr && entry->suspended && kept_unsynced(*entry) > 0;
}

std::expected<std::string, std::string> ExportSet::resume(std::string_view export_path) {
  Entry* const entry = find(export_path);
  if (entry == nullptr) return std::unexpected(no_export(export_path));
  if (!entry->suspended) return std::unexpected(fmt::format("the export {} is not suspended", export_path));
  entry->suspended = false;
  entry->unavailable.clear();
  // What clients have kept open is of the same file system, if its disk is still there.
  const auto kept = entry->let_go.lock();
  if (kept != nullptr && kept->in_place()) entry->file_system = kept;
  entry->let_go.reset();
  entry->unsynced.reset();
  if (entry->file_system == nullptr) {
    if (auto opened = open(*entry); !opened) entry->unavailable = std::move(opened.error());
    // Nobody has heard what became of bytes that were not synced.
    if (entry->file_system != nullptr) entry->file_system->tree().write_back().lost();
  }
  log_standing(*entry);
  publish();
  return entry->unavailable;
}

std::expected<void, std::string> ExportSet::accept(std::string_view export_path) {
  Entry* const entry = find(export_path);
  if (entry == nullptr) return std::unexpected(no_export(export_path));
  if (entry->suspended) return std::unexpected(entry->unavailable);
  const config::ExportConfig& config = entry->config;
  const auto found = vfs::posix::directory_identity(config.directory, config.fsid);
  if (!found) return std::unexpected(missing_text(config, found.error()));
  const auto registered = registry_.accept(config.path, config.directory, *found);
  if (!registered) return std::unexpected(registry_trouble(config, registered.error()));
  base::log_event(base::Level::info, "export_accepted", "export={} directory={}: it is {} on {} from now on",
                  config.path, config.directory, found->directory, found->file_system);
  entry->seen.reset();
  if (entry->unavailable.empty()) return {};
  const bool back = look_at(*entry);
  if (back) publish();
  if (!entry->unavailable.empty()) return std::unexpected(entry->unavailable);
  return {};
}

}  // namespace braid::server
