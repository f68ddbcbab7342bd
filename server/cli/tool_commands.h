// The subcommands that need no server.
#pragma once

#include "server/cli/command.h"

namespace braid::server::cli {

void add_hash(CLI::App& app, Chosen& chosen);
void add_dedup(CLI::App& app, Chosen& chosen);
void add_store(CLI::App& app, Chosen& chosen);
void add_check(CLI::App& app, Chosen& chosen);

}  // namespace braid::server::cli
