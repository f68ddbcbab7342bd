// braid export accept
#pragma once

#include <string>

#include "server/cli/admin_client.h"
#include "server/cli/command.h"

namespace braid::server::cli {

// braid export accept PATH
struct ExportCommand {
  ServerChoice server;
  std::string path;
};

// Has a server take what is at an export's directory now for what is meant; returns the exit code.
int accept_export(const ExportCommand& command);

void add_export(CLI::App& app, Chosen& chosen);

}  // namespace braid::server::cli
