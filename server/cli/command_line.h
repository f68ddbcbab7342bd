// The command line of the braid program.
#pragma once

#include <expected>
#include <string>
#include <variant>

#include "server/cli/admin_client.h"
#include "server/run/serve.h"
#include "tools/dedup_command.h"
#include "tools/hash_command.h"

namespace braid::server::cli {

// braid status
struct StatusCommand {
  ServerChoice server;
  bool json = false;
};

// braid clients, sessions, opens, locks, delegations
struct ListCommand {
  ServerChoice server;
  std::string what;    // the command's name
  std::string client;  // whose; empty: all
  bool json = false;
};

// braid client evict ID, braid client revoke ID
struct ClientCommand {
  ServerChoice server;
  std::string action;  // "evict" or "revoke"
  std::string client;
};

// braid export accept PATH
struct ExportCommand {
  ServerChoice server;
  std::string path;
};

using Command = std::variant<run::ServeCommand, StatusCommand, ListCommand, ClientCommand, ExportCommand,
                             tools::HashCommand, tools::DedupCommand>;

// The program is to end now: with a text for people and an exit code.
struct Exit {
  int code = 0;
  std::string text;
};

std::expected<Command, Exit> parse_command_line(int argc, const char* const* argv);

}  // namespace braid::server::cli
