// What the commands about a pNFS cluster are called, on the admin socket and on the command line.
#pragma once

#include "server/admin/admin_command.h"

namespace braid::server::roles::mds {

constexpr admin::CommandName data_servers_command{"data-servers", "List the data servers of a pNFS cluster"};
constexpr admin::CommandName location_command{"location", "Show on which data servers a file lies"};

}  // namespace braid::server::roles::mds
