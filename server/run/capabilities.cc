#include "server/run/capabilities.h"

#include <fmt/format.h>

#include <algorithm>

#include "server/config/paths.h"
#include "server/roles/mds/metadata_server.h"
#include "server/roles/stores/stores.h"

namespace braid::server::run {

std::expected<roles::nfs::Capabilities, std::string> capabilities_of(const config::Config& config,
                                                                     const std::string& state_dir,
                                                                     const base::Clock& clock) {
  roles::nfs::Capabilities all;
  if (!config.stores.empty()) {
    auto stores = roles::stores::Stores::open(config, clock);
    if (!stores) return std::unexpected(std::move(stores.error()));
    if (*stores != nullptr) all.push_back(std::move(*stores));
  }
  if (!config.pnfs.on) return all;
  if (auto made = config::make_private_directory(state_dir); !made) return std::unexpected(made.error());
  auto metadata_server = roles::mds::MetadataServer::open(config, state_dir, clock);
  if (!metadata_server) return std::unexpected(std::move(metadata_server.error()));
  all.push_back(std::move(*metadata_server));
  return all;
}

std::expected<void, std::string> can_reload(const config::Config& running, const config::Config& next) {
  const auto unknown = std::ranges::find_if(next.exports, [&](const config::ExportConfig& one) {
    return !one.store.empty() &&
           std::ranges::find(running.stores, one.store, &config::StoreConfig::name) == running.stores.end();
  });
  if (unknown != next.exports.end())
    return std::unexpected(
        fmt::format("the export {} has the store {}, and [[store]] is read at the start only", unknown->path,
                    unknown->store));
  const auto striped = std::ranges::find(next.exports, config::Data::striped, &config::ExportConfig::data);
  if (running.pnfs.on || striped == next.exports.end()) return {};
  return std::unexpected(
      fmt::format("the export {} is striped, and [pnfs] is read at the start only", striped->path));
}

}  // namespace braid::server::run
