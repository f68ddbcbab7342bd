// braid serve
#pragma once

#include "server/cli/command.h"

namespace braid::server::cli {

void add_serve(CLI::App& app, Chosen& chosen);

}  // namespace braid::server::cli
