// braid status
#pragma once

#include "server/command_line.h"

namespace braid::server {

// Asks a running server and prints its answer; returns the exit code.
int show_status(const StatusCommand& command);

}  // namespace braid::server
