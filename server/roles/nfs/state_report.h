// What the admin socket says of NFSv4 clients, and does to them. docs/admin-socket.md describes the members.
#pragma once

#include <vector>

#include "nfs4/engine.h"
#include "server/admin/admin_command.h"
#include "vfs/export.h"

namespace braid::server::roles::nfs {

// "clients", "sessions", "opens", "locks", "delegations": lists in pages, which are made on the calling
// reactor's thread; no lock is held for longer than one page takes. "evict", "revoke" and "end-grace". The
// engine and the exports outlive them.
std::vector<admin::AdminCommand> state_commands(nfs4::Nfs4Engine& engine, const vfs::Exports& exports);

}  // namespace braid::server::roles::nfs
