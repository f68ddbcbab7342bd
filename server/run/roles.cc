#include "server/run/roles.h"

#include <fmt/format.h>

#include <string>

#include "server/roles/data_server/data_server_role.h"
#include "server/roles/nfs/nfs_role.h"

namespace braid::server::run {

std::vector<RoleMaker> roles_of(const config::Config& config, const roles::nfs::Capabilities& capabilities) {
  std::vector<RoleMaker> out;
  const auto make_nfs = [capabilities](const Shared& shared, const config::Config& its_config) {
    return roles::nfs::NfsRole::make(shared, its_config, capabilities);
  };
  out.reserve(1 + config.data_servers.size());
  if (!config.exports.empty() || config.data_servers.empty()) out.push_back({.label = "", .make = make_nfs});
  unsigned number = 0;
  for (const config::DataServerConfig& server : config.data_servers) {
    const auto make = [server](const Shared& shared, const config::Config& its_config) {
      return roles::data_server::DataServerRole::make(shared, its_config, server);
    };
    const std::string label = server.mds.empty() ? fmt::format("ds{}", ++number) : "data_server";
    out.push_back({.label = out.empty() ? "" : label, .make = make});
  }
  return out;
}

}  // namespace braid::server::run
