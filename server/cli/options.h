// Options that several subcommands have.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "server/admin/admin_command.h"
#include "server/cli/admin_client.h"

namespace braid::server::cli {

// A check that says what to write; the texts reach the user as "--option: TEXT".
CLI::Validator must(bool (*right)(const std::string&), const std::string& advice);

// A whole number from `low` to `high`.
CLI::Validator number(std::uint64_t low, std::uint64_t high);

// A subcommand that is called as the command of the admin socket that it stands for, with the same help.
CLI::App* add_subcommand(CLI::App& to, const admin::CommandName& name);

// --port and --admin: which server is asked.
void add_server_choice(CLI::App& command, ServerChoice& server);

}  // namespace braid::server::cli
