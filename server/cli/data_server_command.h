// braid data-server
#pragma once

#include "server/cli/command.h"

namespace braid::server::cli {

void add_data_server(CLI::App& app, Chosen& chosen);

}  // namespace braid::server::cli
