#include "server/cli/tool_commands.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "tools/dedup_command.h"
#include "tools/hash_command.h"
#include "tools/hashing_options.h"
#include "tools/store_command.h"
#include "tools/store_options.h"

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

void add_store(CLI::App& app, Chosen& chosen) {
  const auto status = std::make_shared<tools::StoreStatusCommand>();
  CLI::App* const store = tools::add_store_status(app, *status);
  const auto seal = std::make_shared<tools::StoreSealCommand>();
  tools::add_store_seal(*store, *seal)->callback([seal, &chosen] {
    choose(chosen, *seal, tools::seal_tree);
  });
  const auto unseal = std::make_shared<tools::StoreUnsealCommand>();
  tools::add_store_unseal(*store, *unseal)->callback([unseal, &chosen] {
    choose(chosen, *unseal, tools::unseal_tree);
  });
  store->callback([store, status, &chosen] {
    if (!store->get_subcommands().empty()) return;
    if (status->store.empty()) throw CLI::RequiredError("--store DIR");
    choose(chosen, *status, tools::show_store);
  });
}

void add_check(CLI::App& app, Chosen& chosen) {
  const auto wanted = std::make_shared<tools::StoreCheckCommand>();
  tools::add_check(app, *wanted)->callback([wanted, &chosen] {
    choose(chosen, *wanted, tools::check_store);
  });
}

}  // namespace braid::server::cli
