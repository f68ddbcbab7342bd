#include "server/cli/cluster_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "server/cli/options.h"
#include "server/cli/text_table.h"
#include "server/config/units.h"
#include "server/roles/mds/commands.h"

namespace braid::server::cli {
namespace {

using nlohmann::json;

std::string addresses_text(const json& addresses) {
  std::string out;
  for (const json& one : addresses) out += (out.empty() ? "" : ", ") + one.get<std::string>();
  return out.empty() ? "-" : out;
}

std::string table_of(const json& answer) {
  std::vector<std::vector<std::string>> rows{
      {"OBJECT FILE", "NAME", "STATE", "ADDRESSES", "SERVER", "INDEX"}};
  for (const json& server : answer.at("servers"))
    rows.push_back({server.at("object_file"), server.value("name", "-"), server.value("state", "-"),
                    addresses_text(server.value("addresses", json::array())),
                    std::to_string(server.at("number").get<std::uint64_t>()),
                    std::to_string(server.at("index").get<std::uint64_t>())});
  return fmt::format("{}\n  object {}, epoch {}\n  {} in pieces of {}, {}, the first one at index {}\n{}",
                     answer.at("file").get<std::string>(), answer.at("object").get<std::string>(),
                     answer.at("epoch").get<std::uint64_t>(),
                     rows.size() == 2 ? "on one server" : fmt::format("on {} servers", rows.size() - 1),
                     config::bytes_text(answer.at("unit").get<std::uint64_t>()),
                     answer.at("packing").get<std::string>(), answer.at("first").get<std::uint64_t>(),
                     table_text(rows, 4));
}

}  // namespace

std::optional<std::string> location_table(std::string_view text) {
  constexpr bool no_exceptions = false;
  const json answer = json::parse(text, nullptr, no_exceptions);
  try {
    return table_of(answer);
  } catch (const json::exception&) {  // a member is missing or of another type
    return std::nullopt;
  }
}

int show_location(const LocationCommand& command) {
  constexpr std::string_view name = "braid location";
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(command.file, error);
  if (error) return failed(name, fmt::format("{}: {}", command.file, error.message()));
  const auto answer = ask_json(command.server, {{"command", "location"}, {"path", path.string()}});
  if (!answer) return failed(name, answer.error());
  if (command.json) {
    fmt::print("{}\n", answer->dump());
    return 0;
  }
  const auto table = location_table(answer->dump());
  if (!table) return failed(name, fmt::format("the server's answer is not understood: {}", answer->dump()));
  fmt::print("{}", *table);
  return 0;
}

void add_location(CLI::App& app, Chosen& chosen) {
  const auto wanted = std::make_shared<LocationCommand>();
  CLI::App* location = add_subcommand(app, roles::mds::location_command);
  location->add_option("FILE", wanted->file, "A file of a striped export, on the metadata server's host")
      ->type_name(" ")
      ->required();
  location->add_flag("--json", wanted->json, "As JSON");
  add_server_choice(*location, wanted->server);
  location->callback([wanted, &chosen] { choose(chosen, *wanted, show_location); });
}

}  // namespace braid::server::cli
