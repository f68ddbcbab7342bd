// Which roles a server has.
#pragma once

#include <vector>

#include "server/role.h"
#include "server/roles/nfs/capability.h"

namespace braid::server::run {

// The list, in the order in which they are made and started.
std::vector<RoleMaker> roles_of(const roles::nfs::Capabilities& capabilities = {});

}  // namespace braid::server::run
