// Options of each command that serves: about the process as a whole.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "server/run/serve.h"

namespace braid::server::cli {

struct ProcessOptions {
  run::ServeCommand::Overrides overrides;
  std::string metrics, log_level;  // as written
};

// --threads, --state, --metrics, --log-level, --admin, listed under `group`.
void add_process_options(CLI::App& command, ProcessOptions& options, const std::string& group);
// What was written goes into the overrides.
void judge(ProcessOptions& options);

}  // namespace braid::server::cli
