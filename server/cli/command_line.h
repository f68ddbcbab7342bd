// The command line of the braid program.
#pragma once

#include <expected>
#include <memory>

#include "server/cli/command.h"

namespace braid::server::cli {

// The command that is asked for; or the text of --help or --version, or what is wrong.
std::expected<std::unique_ptr<Command>, Exit> parse_command_line(int argc, const char* const* argv);

}  // namespace braid::server::cli
