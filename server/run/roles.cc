#include "server/run/roles.h"

#include "server/roles/data_server/data_server_role.h"
#include "server/roles/nfs/nfs_role.h"

namespace braid::server::run {

std::vector<RoleMaker> roles_of(const config::Config& config, const roles::nfs::Capabilities& capabilities) {
  std::vector<RoleMaker> out;
  const auto make_nfs = [capabilities](const Shared& shared, const config::Config& its_config) {
    return roles::nfs::NfsRole::make(shared, its_config, capabilities);
  };
  if (!config.exports.empty() || !config.data_server) out.push_back({.label = "", .make = make_nfs});
  if (config.data_server)
    out.push_back(
        {.label = out.empty() ? "" : "data_server", .make = roles::data_server::DataServerRole::make});
  return out;
}

}  // namespace braid::server::run
