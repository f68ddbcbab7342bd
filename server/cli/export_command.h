// braid export, braid reload
#pragma once

#include <string>

#include "server/cli/admin_client.h"
#include "server/cli/command.h"

namespace braid::server::cli {

// braid export accept|suspend|resume PATH
struct ExportCommand {
  ServerChoice server;
  std::string action;
  std::string path;
};

struct ReloadCommand {
  ServerChoice server;
};

// Has a server do that with one of its exports; returns the exit code.
int act_on_export(const ExportCommand& command);
// Has a server read its configuration file again; returns the exit code.
int reload_server(const ReloadCommand& command);

void add_export(CLI::App& app, Chosen& chosen);
void add_reload(CLI::App& app, Chosen& chosen);

}  // namespace braid::server::cli
