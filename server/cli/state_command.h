// braid clients, sessions, opens, locks, delegations; braid client evict, revoke: what NFSv4 clients hold;
// and braid export accept.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/cli/command_line.h"

namespace braid::server::cli {

// Asks a running server, page by page, and prints its answers; returns the exit code.
int list_state(const ListCommand& command);
// Has a server take something from a client; returns the exit code.
int act_on_client(const ClientCommand& command);
// Has a server take what is at an export's directory now for what is meant; returns the exit code.
int accept_export(const ExportCommand& command);

// The list of `what` ("clients" ...) as a table for people; nothing if `json` is no such list (another
// version's, or an error).
std::optional<std::string> state_table(std::string_view what, std::string_view json);

}  // namespace braid::server::cli
