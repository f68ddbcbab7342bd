#include "server/run/roles.h"

#include "server/roles/nfs/nfs_role.h"

namespace braid::server::run {

std::vector<RoleMaker> roles_of() { return {{.label = "", .make = roles::nfs::NfsRole::make}}; }

}  // namespace braid::server::run
