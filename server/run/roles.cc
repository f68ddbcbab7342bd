#include "server/run/roles.h"

#include "server/roles/nfs/nfs_role.h"

namespace braid::server::run {

std::vector<RoleMaker> roles_of(const roles::nfs::Capabilities& capabilities) {
  const auto make_nfs = [capabilities](const Shared& shared, const config::Config& config) {
    return roles::nfs::NfsRole::make(shared, config, capabilities);
  };
  return {{.label = "", .make = make_nfs}};
}

}  // namespace braid::server::run
