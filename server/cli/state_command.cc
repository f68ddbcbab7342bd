#include "server/cli/state_command.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace braid::server::cli {
namespace {

using nlohmann::json;

// An answer that is a JSON object and no error.
std::expected<json, std::string> ask(const ServerChoice& server, const json& request) {
  constexpr bool no_exceptions = false;
  const auto answer = ask_server(server, request.dump());
  if (!answer) return std::unexpected(answer.error());
  json object = json::parse(*answer, nullptr, no_exceptions);
  if (!object.is_object())
    return std::unexpected(fmt::format("the server's answer is not understood: {}", *answer));
  if (const auto error = object.find("error"); error != object.end() && error->is_string())
    return std::unexpected(error->get<std::string>());
  return object;
}

// All pages of a list.
std::expected<json, std::string> all_of(const ListCommand& command) {
  json request{{"command", command.what}};
  if (!command.client.empty()) request["client"] = command.client;
  json lines = json::array();
  for (;;) {
    auto page = ask(command.server, request);
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
  const auto done = ask(command.server, {{"command", command.action}, {"client", command.client}});
  if (!done) return failed("braid client " + command.action, done.error());
  if (command.action == "evict")
    fmt::print("Client {} is forgotten.\n", command.client);
  else
    fmt::print("What client {} held is taken back.\n", command.client);
  return 0;
}

int accept_export(const ExportCommand& command) {
  const auto done = ask(command.server, {{"command", "accept"}, {"path", command.path}});
  if (!done) return failed("braid export accept", done.error());
  fmt::print("The export {} is what its directory leads to now.\n", command.path);
  return 0;
}

}  // namespace braid::server::cli
