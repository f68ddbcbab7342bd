#include "server/run/data_servers.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include "server/config/paths.h"
#include "server/process.h"

namespace braid::server::run {
namespace {

bool is_in(std::string_view path, std::string_view directory) {
  if (!path.starts_with(directory)) return false;
  return directory == "/" || path.size() == directory.size() || path[directory.size()] == '/';
}

// Clients must not see objects, nor change them.
std::expected<void, std::string> outside_of_exports(const config::Config& config,
                                                    const std::string& directory) {
  for (const config::ExportConfig& one : config.exports)
    if (is_in(directory, one.directory))
      return std::unexpected(
          fmt::format("the directory {} of a data server is in {}, which clients see; give another one with "
                      "--data-directory, or another state directory with --state",
                      directory, one.directory));
  return {};
}

}  // namespace

std::expected<void, std::string> place_data_servers(config::Config& config, const std::string& state_dir) {
  std::error_code error;
  const std::string state = std::filesystem::absolute(state_dir, error).lexically_normal().string();
  for (config::DataServerConfig& one : config.data_servers) {
    if (!one.mds.empty()) continue;
    if (!may_keep_trusted_attributes())
      return std::unexpected(
          "--data-servers needs root (CAP_SYS_ADMIN): where a file lies is kept in an extended attribute "
          "trusted.*; start braid as root, or do without --data-servers");
    if (one.secret.empty())
      one.secret = config.pnfs.secret.empty() ? state + "/pnfs/secret" : config.pnfs.secret;
    const bool ours = one.directory.empty();
    const std::string parent = state + "/data-servers";
    if (ours) one.directory = fmt::format("{}/{}", parent, one.name);
    if (auto outside = outside_of_exports(config, one.directory); !outside) return outside;
    if (!ours) continue;
    for (const std::string& directory : {state, parent, one.directory})
      if (auto made = config::make_private_directory(directory); !made) return made;
  }
  return {};
}

}  // namespace braid::server::run
