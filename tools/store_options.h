// The command lines of braid store and braid check.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/store_command.h"

namespace braid::tools {

// Each adds its subcommand, to be parsed into `command`. The others of `store` are below that one.
CLI::App* add_store_status(CLI::App& app, StoreStatusCommand& command);
CLI::App* add_store_seal(CLI::App& store, StoreSealCommand& command);
CLI::App* add_store_unseal(CLI::App& store, StoreUnsealCommand& command);
CLI::App* add_store_adopt(CLI::App& store, StoreAdoptCommand& command);
CLI::App* add_store_gc(CLI::App& store, StoreGcCommand& command);
CLI::App* add_store_scrub(CLI::App& store, StoreScrubCommand& command);
CLI::App* add_store_forget(CLI::App& store, StoreForgetCommand& command);
CLI::App* add_check(CLI::App& app, StoreCheckCommand& command);

}  // namespace braid::tools
