// braid clients, sessions, opens, locks, delegations, layouts; braid client evict, revoke: what NFSv4 clients
// hold. braid data-servers.
#pragma once

#include <expected>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "server/cli/admin_client.h"
#include "server/cli/command.h"

namespace braid::server::cli {

// braid clients, sessions, opens, locks, delegations, layouts, data-servers
struct ListCommand {
  ServerChoice server;
  std::string what;    // the command's name
  std::string client;  // whose: id, address or name; empty: all
  std::string file;    // of files whose place has this in it; empty: all
  bool json = false;
};

// braid client evict CLIENT, braid client revoke CLIENT
struct ClientCommand {
  ServerChoice server;
  std::string action;  // "evict" or "revoke"
  std::string client;
};

// Asks a running server, page by page, and prints its answers; returns the exit code.
int list_state(const ListCommand& command);
// Has a server take something from a client; returns the exit code.
int act_on_client(const ClientCommand& command);

struct GraceCommand {
  ServerChoice server;
};

// Has a server wait no longer for clients of an earlier run; returns the exit code.
int end_grace(const GraceCommand& command);

// The id of the one client in a list of `braid clients` that is meant by an id, an address with or without a
// port, or a name or a part of it. The error is a sentence.
std::expected<std::string, std::string> client_meant(const nlohmann::json& clients,
                                                     const std::string& wanted);

void add_grace(CLI::App& app, Chosen& chosen);
void add_lists(CLI::App& app, Chosen& chosen);
void add_client(CLI::App& app, Chosen& chosen);

// The list of `what` ("clients" ...) as a table for people; nothing if `json` is no such list (another
// version's, or an error).
std::optional<std::string> state_table(std::string_view what, std::string_view json);

}  // namespace braid::server::cli
