#include "server/cli/tool_commands.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "server/cli/options.h"
#include "server/cli/served_store.h"
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

namespace {

// What is done for a store as a whole.
void add_upkeep(CLI::App& store, Chosen& chosen) {
  const auto served = std::make_shared<ServedUpkeepCommand>();
  const auto add_served = [&served](CLI::App& command) {
    add_server_choice(command, served->server);
    command.add_option("NAME", served->store, "The store's name or directory, if a server has several")
        ->type_name(" ");
  };
  const auto gc = std::make_shared<tools::StoreGcCommand>();
  CLI::App* const collect = tools::add_store_gc(store, *gc);
  add_served(*collect);
  collect->callback([collect, gc, served, &chosen] {
    if (!gc->store.empty()) return choose(chosen, *gc, tools::collect_garbage);
    if (collect->count("--keep-seconds") > 0)
      throw CLI::ValidationError("--keep-seconds", "goes with --store; of a server it is gc_keep_seconds");
    choose(chosen, *served, collect_served_garbage);
  });
  const auto scrub = std::make_shared<tools::StoreScrubCommand>();
  CLI::App* const read_all = tools::add_store_scrub(store, *scrub);
  add_served(*read_all);
  read_all->callback([scrub, served, &chosen] {
    if (scrub->store.empty())
      choose(chosen, *served, scrub_served_store);
    else
      choose(chosen, *scrub, tools::scrub_store);
  });
}

}  // namespace

void add_store(CLI::App& app, Chosen& chosen) {
  const auto status = std::make_shared<tools::StoreStatusCommand>();
  CLI::App* const store = tools::add_store_status(app, *status);
  const auto seal = std::make_shared<tools::StoreSealCommand>();
  const auto served = std::make_shared<ServedTreeCommand>();
  CLI::App* const seal_tree = tools::add_store_seal(*store, *seal);
  add_server_choice(*seal_tree, served->server);
  seal_tree->callback([seal, served, &chosen] {
    served->path = seal->path;
    if (seal->store.empty())
      choose(chosen, *served, act_on_served_tree);
    else
      choose(chosen, *seal, tools::seal_tree);
  });
  const auto unseal = std::make_shared<tools::StoreUnsealCommand>();
  CLI::App* const unseal_tree = tools::add_store_unseal(*store, *unseal);
  add_server_choice(*unseal_tree, served->server);
  unseal_tree->callback([unseal, served, &chosen] {
    served->path = unseal->path;
    served->unseals = true;
    if (unseal->store.empty())
      choose(chosen, *served, act_on_served_tree);
    else
      choose(chosen, *unseal, tools::unseal_tree);
  });
  const auto adopt = std::make_shared<tools::StoreAdoptCommand>();
  tools::add_store_adopt(*store, *adopt)->callback([adopt, &chosen] {
    choose(chosen, *adopt, tools::adopt_tree);
  });
  add_upkeep(*store, chosen);
  const auto forget = std::make_shared<tools::StoreForgetCommand>();
  tools::add_store_forget(*store, *forget)->callback([forget, &chosen] {
    choose(chosen, *forget, tools::forget_tree);
  });
  const auto stores = std::make_shared<ServedStoresCommand>();
  add_server_choice(*store, stores->server);
  store->callback([store, status, stores, &chosen] {
    if (!store->get_subcommands().empty()) return;
    stores->json = status->json;
    if (status->store.empty())
      choose(chosen, *stores, show_served_stores);
    else
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
