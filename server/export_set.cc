#include "server/export_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "vfs/network.h"

namespace braid::server {

ExportSet::ExportSet(const ExportResources& resources, vfs::ExportRegistry registry)
    : resources_(resources),
      registry_(std::move(registry)),
      exports_(std::make_shared<const vfs::ExportTable>(std::vector<vfs::Export>{})) {}

std::expected<void, std::string> ExportSet::apply(const std::vector<ExportConfig>& exports) {
  std::vector<vfs::Export> table;
  std::vector<Entry> entries;
  const std::size_t share = std::max<std::size_t>(resources_.open_files_max / exports.size(), 16);
  for (const ExportConfig& config : exports) {
    auto offered = offer(config, share, entries);
    if (!offered) return std::unexpected(std::move(offered.error()));
    table.push_back(std::move(*offered));
  }
  exports_.replace(std::make_shared<const vfs::ExportTable>(std::move(table)));
  entries_ = std::move(entries);
  return {};
}

const ExportSet::Entry* ExportSet::same_file_system(const ExportConfig& config) const {
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.config.path == config.path && entry.config.directory == config.directory &&
           entry.config.read_only == config.read_only && entry.config.sync == config.sync;
  });
  return found == entries_.end() ? nullptr : &*found;
}

std::expected<vfs::Export, std::string> ExportSet::offer(const ExportConfig& config,
                                                         std::size_t open_files_max,
                                                         std::vector<Entry>& entries) {
  const auto identity = registry_.identity_of(config.path, config.directory);
  if (!identity)
    return std::unexpected(
        fmt::format("cannot keep the handle key of the export {} in the state directory: {}", config.path,
                    base::message_of(identity.error())));
  Entry entry{config, nullptr};
  if (const Entry* kept = same_file_system(config)) {
    entry.file_system = kept->file_system;
  } else {
    vfs::posix::PosixOptions options;
    options.directory = config.directory;
    options.tree.id = identity->id;
    options.tree.key = identity->key;
    options.tree.export_path = config.path;
    options.tree.read_only = config.read_only;
    options.tree.sync = config.sync;
    options.tree.write_backs = write_backs_;
    options.tree.cache.descriptors_max = open_files_max;
    options.pool = &resources_.pool;
    options.slabs = &resources_.slabs;
    auto opened = vfs::posix::PosixFileSystem::open(options, resources_.clock);
    if (!opened)
      return std::unexpected(
          fmt::format("cannot serve {}: {}", config.directory, base::message_of(opened.error())));
    entry.file_system = std::move(*opened);
  }
  vfs::Export offered;
  offered.id = identity->id;
  offered.path = config.path;
  offered.squash = config.squash;
  offered.anon_uid = config.anon_uid;
  offered.anon_gid = config.anon_gid;
  offered.read_only = config.read_only;
  for (const std::string& network : config.clients)
    offered.clients.push_back(vfs::Network::parse(network).value());
  offered.file_system = entry.file_system;
  entries.push_back(std::move(entry));
  return offered;
}

void ExportSet::sweep() {
  for (const Entry& entry : entries_) entry.file_system->sweep();
}

}  // namespace braid::server
