// The commands of a server's admin socket.
#pragma once

#include <functional>
#include <vector>

#include "base/clock.h"
#include "server/admin/admin_command.h"
#include "server/run/reload.h"

namespace braid::server {
class Server;
}

namespace braid::server::run {

constexpr admin::CommandName status_command{"status", "Show what a running server does"};
constexpr admin::CommandName accept_command{
    "accept", "Serve what its directory leads to now, if that is another one than before"};
constexpr admin::CommandName suspend_command{"suspend",
                                             "Let go of its disk, so that it can be unmounted; clients wait"};
constexpr admin::CommandName resume_command{"resume", "Serve it again"};
constexpr admin::CommandName reload_command{
    "reload", "Put the exports of the configuration file into force, and say what came of it"};

// Those of the server as a whole and of its roles; no two have the same name. To be run on the control
// thread's reactor. The server, and what `reload` refers to, outlive them. A new one is a function in a file
// of its own, and a line in the list, here or in Role::describe().
std::vector<admin::AdminCommand> admin_commands(Server& server, base::TimePoint started,
                                                const std::function<ReloadOutcome()>& reload);

}  // namespace braid::server::run
