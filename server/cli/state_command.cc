#include "server/cli/state_command.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "server/admin/admin_command.h"
#include "server/cli/options.h"
#include "server/roles/mds/commands.h"
#include "server/roles/nfs/commands.h"

namespace braid::server::cli {
namespace {

using nlohmann::json;

// All pages of a list.
std::expected<json, std::string> all_of(const ListCommand& command) {
  json request{{"command", command.what}};
  if (!command.client.empty()) request["client"] = command.client;
  json lines = json::array();
  for (;;) {
    auto page = ask_json(command.server, request);
    if (!page) return std::unexpected(page.error());
    const auto list = page->find(command.what);
    if (list == page->end() || !list->is_array())
      return std::unexpected(fmt::format("the server's answer has no {}", command.what));
    for (json& line : *list) lines.push_back(std::move(line));
    const auto next = page->find("next");
    if (next == page->end()) return json{{command.what, std::move(lines)}};
    request["from"] = *next;
  }
}

CLI::Validator is_client() {
  return must([](const std::string& s) { return admin::parse_client(s).has_value(); },
              "write the id as `braid clients` shows it, e.g. 0x500000001");
}

}  // namespace

int list_state(const ListCommand& command) {
  const std::string name = "braid " + command.what;
  const auto list = all_of(command);
  if (!list) return failed(name, list.error());
  if (command.json) {
    fmt::print("{}\n", list->dump());
    return 0;
  }
  const auto table = state_table(command.what, list->dump());
  if (!table) return failed(name, fmt::format("the server's answer is not understood: {}", list->dump()));
  fmt::print("{}", *table);
  return 0;
}

int act_on_client(const ClientCommand& command) {
  const auto done = ask_json(command.server, {{"command", command.action}, {"client", command.client}});
  if (!done) return failed("braid client " + command.action, done.error());
  if (command.action == "evict")
    fmt::print("Client {} is forgotten.\n", command.client);
  else
    fmt::print("What client {} held is taken back.\n", command.client);
  return 0;
}

void add_lists(CLI::App& app, Chosen& chosen) {
  namespace nfs = roles::nfs;
  for (const admin::CommandName& name :
       {nfs::clients_command, nfs::sessions_command, nfs::opens_command, nfs::locks_command,
        nfs::delegations_command, nfs::layouts_command, roles::mds::data_servers_command}) {
    const auto wanted = std::make_shared<ListCommand>();
    wanted->what = name.name;
    CLI::App* list = add_subcommand(app, name);
    list->add_flag("--json", wanted->json, "As JSON");
    if (name.name != nfs::clients_command.name && name.name != roles::mds::data_servers_command.name)
      list->add_option("--client", wanted->client, "Of this client only")
          ->type_name("ID")
          ->check(is_client());
    add_server_choice(*list, wanted->server);
    list->callback([wanted, &chosen] { choose(chosen, *wanted, list_state); });
  }
}

void add_client(CLI::App& app, Chosen& chosen) {
  CLI::App* client = app.add_subcommand("client", "Take something from an NFSv4 client");
  client->require_subcommand(1);
  for (const admin::CommandName& name : {roles::nfs::evict_command, roles::nfs::revoke_command}) {
    const auto wanted = std::make_shared<ClientCommand>();
    wanted->action = name.name;
    CLI::App* action = add_subcommand(*client, name);
    action->add_option("ID", wanted->client, "The client, as `braid clients` shows it")
        ->type_name(" ")
        ->required()
        ->check(is_client());
    add_server_choice(*action, wanted->server);
    action->callback([wanted, &chosen] { choose(chosen, *wanted, act_on_client); });
  }
}

}  // namespace braid::server::cli
