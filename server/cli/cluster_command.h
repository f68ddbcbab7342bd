// braid data-servers, braid location: a pNFS cluster, as its metadata server knows it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/cli/admin_client.h"
#include "server/cli/command.h"

namespace braid::server::cli {

// braid location FILE
struct LocationCommand {
  ServerChoice server;
  std::string file;
  bool json = false;
};

// Asks a running server where a file of this host lies; returns the exit code.
int show_location(const LocationCommand& command);

void add_location(CLI::App& app, Chosen& chosen);

// The answer as a table for people; nothing if `json` is none.
std::optional<std::string> location_table(std::string_view json);

}  // namespace braid::server::cli
