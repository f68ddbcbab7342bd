// Which roles a server has.
#pragma once

#include <vector>

#include "server/role.h"

namespace braid::server::run {

// The list, in the order in which they are made and started.
std::vector<RoleMaker> roles_of();

}  // namespace braid::server::run
