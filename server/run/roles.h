// Which roles a server has.
#pragma once

#include <vector>

#include "server/config/config.h"
#include "server/role.h"
#include "server/roles/nfs/capability.h"

namespace braid::server::run {

// The list, in the order in which they are made and started: the exports, then the data servers. The first
// one has no label; a data server of this server's own cluster is "ds1", "ds2", and so on.
std::vector<RoleMaker> roles_of(const config::Config& config,
                                const roles::nfs::Capabilities& capabilities = {});

}  // namespace braid::server::run
