#include "server/cli/tool_commands.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "tools/dedup_command.h"
#include "tools/hash_command.h"
#include "tools/hashing_options.h"

namespace braid::server::cli {

void add_hash(CLI::App& app, Chosen& chosen) {
  const auto wanted = std::make_shared<tools::HashCommand>();
  tools::add_hash(app, *wanted)->callback([wanted, &chosen] { choose(chosen, *wanted, tools::hash_files); });
}

void add_dedup(CLI::App& app, Chosen& chosen) {
  const auto wanted = std::make_shared<tools::DedupCommand>();
  tools::add_dedup(app, *wanted)->callback([wanted, &chosen] {
    choose(chosen, *wanted, tools::estimate_dedup);
  });
}

}  // namespace braid::server::cli
