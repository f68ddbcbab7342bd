// braid serve
#pragma once

#include "server/command_line.h"

namespace braid::server {

// Serves until SIGTERM or SIGINT; returns the exit code.
int serve(const ServeCommand& command);

}  // namespace braid::server
