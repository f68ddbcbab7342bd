// The command lines of braid hash and braid dedup.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tools/dedup_command.h"
#include "tools/hash_command.h"

namespace braid::tools {

// Of chunks, as options name them.
std::vector<std::string> profile_names();
// Each adds its subcommand to `app`, to be parsed into `command`.
CLI::App* add_hash(CLI::App& app, HashCommand& command);
CLI::App* add_dedup(CLI::App& app, DedupCommand& command);

}  // namespace braid::tools
