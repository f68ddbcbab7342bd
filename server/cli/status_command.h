// braid status
#pragma once

#include "server/cli/admin_client.h"
#include "server/cli/command.h"

namespace braid::server::cli {

struct StatusCommand {
  ServerChoice server;
  bool json = false;
};

// Asks a running server and prints its answer; returns the exit code.
int show_status(const StatusCommand& command);

void add_status(CLI::App& app, Chosen& chosen);

}  // namespace braid::server::cli
