// Options that several subcommands have.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "server/admin/admin_command.h"
#include "server/cli/admin_client.h"

namespace braid::server::cli {

// "; did you mean NAME?" for what is near to `word`, or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

// A check that says what to write; the texts reach the user as "--option: TEXT".
CLI::Validator must(bool (*right)(const std::string&), const std::string& advice);

// One of these words. The check outlives the list.
CLI::Validator one_of(std::initializer_list<std::string_view> words);

// A whole number from `low` to `high`.
CLI::Validator number(std::uint64_t low, std::uint64_t high);

// A subcommand that is called as the command of the admin socket that it stands for, with the same help.
CLI::App* add_subcommand(CLI::App& to, const admin::CommandName& name);

// --port, --admin and --config: which server is asked.
void add_server_choice(CLI::App& command, ServerChoice& server);

}  // namespace braid::server::cli
