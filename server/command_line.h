// The command line of the braid program.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <variant>

#include "server/admin_client.h"
#include "server/config.h"
#include "server/dedup_command.h"
#include "server/hash_command.h"

namespace braid::server {

// braid serve
struct ServeCommand {
  Config config;            // complete, unless there is a file
  std::string config_file;  // read it, then apply `overrides`; read again on SIGHUP
  bool check_only = false;  // say whether the file is right, and end
  // Options about the server as a whole win over the file; those about an export cannot be given beside it.
  struct Overrides {
    std::vector<std::string> listen;
    std::optional<std::uint16_t> port;
    std::optional<std::uint16_t> rdma_port;  // RDMA is wanted, here
    std::optional<unsigned> threads;
    std::string state_dir, admin_socket;
    std::optional<rpc::PeerAddress> metrics;
    std::optional<base::Level> log_level;
  } overrides;
};

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

using Command = std::variant<ServeCommand, StatusCommand, ListCommand, ClientCommand, ExportCommand,
                             HashCommand, DedupCommand>;

// The program is to end now: with a text for people and an exit code.
struct Exit {
  int code = 0;
  std::string text;
};
constexpr int exit_failed = 1;  // the environment did not allow it
constexpr int exit_usage = 2;   // the command line or the configuration is wrong

std::expected<Command, Exit> parse_command_line(int argc, const char* const* argv);
void apply(const ServeCommand::Overrides& overrides, Config& config);

}  // namespace braid::server
