// The command lines of braid hash and braid dedup.
#pragma once

#include <CLI/CLI.hpp>

#include "server/cli/dedup_command.h"
#include "server/cli/hash_command.h"

namespace braid::server::cli {

// Each adds its subcommand to `app`, to be parsed into `command`.
CLI::App* add_hash(CLI::App& app, HashCommand& command);
CLI::App* add_dedup(CLI::App& app, DedupCommand& command);

}  // namespace braid::server::cli
