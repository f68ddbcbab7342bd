// What the admin socket says of NFSv4 clients, and does to them. docs/admin-socket.md describes the members.
#pragma once

#include <vector>

#include "server/admin/admin_socket.h"

namespace braid::server {
class Server;
}

namespace braid::server::roles::nfs {

// "clients", "sessions", "opens", "locks", "delegations": lists in pages, which are made on the calling
// reactor's thread; no lock is held for longer than one page takes. "evict" and "revoke". The server outlives
// them.
std::vector<admin::AdminCommand> state_commands(Server& server);

}  // namespace braid::server::roles::nfs
