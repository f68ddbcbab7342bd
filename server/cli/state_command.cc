#include "server/cli/state_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/quoting.h"
#include "server/admin/admin_command.h"
#include "server/cli/options.h"
#include "server/roles/mds/commands.h"
#include "server/roles/nfs/commands.h"

namespace braid::server::cli {
namespace {

using nlohmann::json;

// All pages of a list.
std::expected<json, std::string> all_of(const ServerChoice& server, const std::string& what,
                                        const std::string& client) {
  json request{{"command", what}};
  if (!client.empty()) request["client"] = client;
  json lines = json::array();
  for (;;) {
    auto page = ask_json(server, request);
    if (!page) return std::unexpected(page.error());
    const auto list = page->find(what);
    if (list == page->end() || !list->is_array())
      return std::unexpected(fmt::format("the server's answer has no {}", what));
    for (json& line : *list) lines.push_back(std::move(line));
    const auto next = page->find("next");
    if (next == page->end()) return json{{what, std::move(lines)}};
    request["from"] = *next;
  }
}

// Asks who is there.
std::expected<std::string, std::string> client_meant_at(const ServerChoice& server,
                                                        const std::string& wanted) {
  const std::string clients(roles::nfs::clients_command.name);
  const auto list = all_of(server, clients, {});
  if (!list) return std::unexpected(list.error());
  return client_meant(list->at(clients), wanted);
}

std::string text_in(const json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : std::string();
}

CLI::Validator is_no_empty_text() {
  return must([](const std::string& s) { return !s.empty(); }, "write a text");
}

bool holds_files(const admin::CommandName& list) {
  namespace nfs = roles::nfs;
  return std::ranges::any_of(
      std::initializer_list<admin::CommandName>{nfs::opens_command, nfs::locks_command,
                                                nfs::delegations_command, nfs::layouts_command},
      [&](const admin::CommandName& one) { return one.name == list.name; });
}

// Without its port: "192.0.2.1:700", "[2001:db8::1]:700".
std::string host_of(const std::string& address) {
  const std::string host = address.substr(0, address.rfind(':'));
  return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

// The wanted ones of these lines.
void keep_files(json& lines, const std::string& file) {
  json kept = json::array();
  for (json& line : lines)
    if (text_in(line, "file").contains(file)) kept.push_back(std::move(line));
  lines = std::move(kept);
}

}  // namespace

std::expected<std::string, std::string> client_meant(const json& clients, const std::string& wanted) {
  const auto id = admin::parse_client(wanted);
  std::vector<std::string> exact, part;
  for (const json& line : clients) {
    std::string its_id = text_in(line, "id");
    const std::string address = text_in(line, "address"), name = text_in(line, "name");
    if (id && admin::parse_client(its_id) == id) return its_id;
    if (text_in(line, "state") == "unconfirmed") continue;
    if (wanted == address || wanted == host_of(address) || wanted == name)
      exact.push_back(its_id);
    else if (name.contains(wanted))
      part.push_back(its_id);
  }
  const std::vector<std::string>& found = exact.empty() ? part : exact;
  if (found.size() == 1) return found.front();
  if (found.empty())
    return std::unexpected(fmt::format("there is no client {}; braid clients lists them", wanted));
  return std::unexpected(fmt::format("{} may be {} clients; name one by its id, such as {}", wanted,
                                     found.size(), found.front()));
}

int list_state(const ListCommand& command) {
  const std::string name = "braid " + command.what;
  std::string client;
  if (!command.client.empty()) {
    const auto meant = client_meant_at(command.server, command.client);
    if (!meant) return failed(name, meant.error());
    client = *meant;
  }
  auto list = all_of(command.server, command.what, client);
  if (!list) return failed(name, list.error());
  if (!command.file.empty()) keep_files(list->at(command.what), command.file);
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
  const std::string name = "braid client " + command.action;
  const auto client = client_meant_at(command.server, command.client);
  if (!client) return failed(name, client.error());
  const auto done = ask_json(command.server, {{"command", command.action}, {"client", *client}});
  if (!done) return failed(name, done.error());
  if (command.action == "evict")
    fmt::print("Client {} is forgotten.\n", *client);
  else
    fmt::print("What client {} held is taken back.\n", *client);
  return 0;
}

int end_grace(const GraceCommand& command) {
  const auto done = ask_json(command.server, {{"command", roles::nfs::end_grace_command.name}});
  if (!done) return failed("braid grace end", done.error());
  fmt::print("The grace period is over.\n");
  const json missing = done->value("missing", json::array());
  if (!missing.empty())
    fmt::print("These clients had not reclaimed, and what they held may be given to others:\n");
  for (const json& one : missing) fmt::print("  {}\n", base::printable(text_in(one, "name")));
  return 0;
}

void add_grace(CLI::App& app, Chosen& chosen) {
  CLI::App* grace = app.add_subcommand("grace", "Decide about the grace period after a start");
  grace->require_subcommand(1);
  const auto wanted = std::make_shared<GraceCommand>();
  CLI::App* end = grace->add_subcommand("end", std::string(roles::nfs::end_grace_command.help));
  add_server_choice(*end, wanted->server);
  end->callback([wanted, &chosen] { choose(chosen, *wanted, end_grace); });
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
      list->add_option("--client", wanted->client, "Of this client only: its id, its address, or its name")
          ->type_name("CLIENT")
          ->check(is_no_empty_text());
    if (holds_files(name))
      list->add_option("--file", wanted->file, "Of files only that have this in FILE")
          ->type_name("TEXT")
          ->check(is_no_empty_text());
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
    action
        ->add_option("CLIENT", wanted->client,
                     "The client, as `braid clients` shows it: its id, its address, or its name")
        ->type_name(" ")
        ->required()
        ->check(is_no_empty_text());
    add_server_choice(*action, wanted->server);
    action->callback([wanted, &chosen] { choose(chosen, *wanted, act_on_client); });
  }
}

}  // namespace braid::server::cli
