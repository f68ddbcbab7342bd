// What the commands about NFSv4 clients are called, on the admin socket and on the command line.
#pragma once

#include "server/admin/admin_command.h"

namespace braid::server::roles::nfs {

using admin::CommandName;

// Lists.
constexpr CommandName clients_command{"clients", "List the NFSv4 clients of a running server"};
constexpr CommandName sessions_command{"sessions", "List the sessions of NFSv4 clients"};
constexpr CommandName opens_command{"opens", "List the files that NFSv4 clients have open"};
constexpr CommandName locks_command{"locks", "List the byte-range locks of NFSv4 clients"};
constexpr CommandName delegations_command{"delegations", "List the delegations of NFSv4 clients"};
constexpr CommandName layouts_command{"layouts", "List the pNFS layouts of NFSv4 clients"};
// Of one client.
constexpr CommandName evict_command{"evict", "Forget a client and all that it holds; it has to begin anew"};
constexpr CommandName revoke_command{"revoke",
                                     "Take back what a client of NFSv4.1 or later holds, and let it go on"};

// Of all.
constexpr CommandName end_grace_command{"end-grace",
                                        "End the grace period; who has not reclaimed loses what it held"};

}  // namespace braid::server::roles::nfs
