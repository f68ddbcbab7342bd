// braid status
#pragma once

#include "server/cli/command_line.h"

namespace braid::server::cli {

// Asks a running server and prints its answer; returns the exit code.
int show_status(const StatusCommand& command);

}  // namespace braid::server::cli
