// [[export]]
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/config/section.h"
#include "vfs/export.h"
#include "vfs/network.h"

namespace braid::server::config {
namespace {

constexpr std::uint32_t nobody_max = 0xfffffffe;  // 2^32 - 1 means "leave it" in chown(2)

// What is wrong with the path of an export, or nothing.
std::string_view path_mistake(std::string_view path) {
  if (path.empty() || path.front() != '/') return "does not begin with '/'";
  if (path == "/") return {};
  if (path.back() == '/') return "ends with '/'";
  for (std::size_t at = 1; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view component = path.substr(at, end - at);
    if (component.empty() || component == "." || component == "..")
      return "has an empty, '.' or '..' component";
    at = end + 1;
  }
  return {};
}

void read_squash(TomlReader& table, RuleConfig& config) {
  std::string squash;
  if (table.text("squash", squash, R"(squash = "root")")) {
    if (const auto parsed = parse_squash(squash))
      config.squash = *parsed;
    else
      table.problem("squash", fmt::format("'squash' is \"{}\"; write \"none\", \"root\" or \"all\"", squash));
  }
  table.integer("anon_uid", config.anon_uid, 0u, nobody_max);
  table.integer("anon_gid", config.anon_gid, 0u, nobody_max);
  for (std::string_view key : {"anon_uid", "anon_gid"})
    if (config.squash == vfs::Squash::none && table.has(key))
      table.problem(key,
                    fmt::format("'{}' has no effect with squash = \"none\"; remove it, or write squash = "
                                "\"root\" or \"all\"",
                                key));
}

// `nobody`: what to do about an empty list.
void read_clients(TomlReader& table, RuleConfig& config, std::string_view nobody) {
  if (!table.texts("clients", config.clients, R"(clients = ["10.0.0.0/8"])")) return;
  for (const std::string& network : config.clients)
    if (vfs::Network::has_host_bits(network))
      table.problem(
          "clients",
          fmt::format("'clients' holds \"{}\", whose address has bits behind the prefix; write "
                      "\"{}\" for the network, or \"{}\" for the one address",
                      network, vfs::Network::parse(network)->text(), network.substr(0, network.find('/'))));
    else if (!vfs::Network::parse(network))
      table.problem("clients",
                    fmt::format("'clients' holds \"{}\", which is no network; write e.g. \"10.0.0.0/8\", "
                                "\"fd00::/8\" or one address",
                                network));
  if (config.clients.empty()) table.problem("clients", fmt::format("'clients' is empty, so {}", nobody));
}

void read_security(TomlReader& table) {
  constexpr std::string_view example = R"(security = ["sys"])";
  std::vector<std::string> flavours;
  if (!table.texts("security", flavours, example)) return;
  if (flavours.empty()) table.problem("security", fmt::format("'security' is empty; write {}", example));
  for (const std::string& flavour : flavours)
    if (flavour != "sys")
      table.problem("security",
                    fmt::format("'security' holds \"{}\"; this version offers \"sys\" only: write {}",
                                flavour, example));
}

// What clients are told apart by, and may do.
void read_rights(TomlReader& table, RuleConfig& config, std::string_view nobody) {
  read_squash(table, config);
  table.boolean("read_only", config.read_only);
  read_clients(table, config, nobody);
  read_security(table);
}

struct SeenNetwork {
  vfs::Network network;
  std::uint32_t line = 0;  // of the rule
};

// Whoever is named by an earlier rule never comes to this one.
void check_reached(TomlReader& table, const RuleConfig& rule, std::vector<SeenNetwork>& seen) {
  std::size_t covered = 0;
  std::uint32_t line = 0;
  for (const std::string& text : rule.clients) {
    const auto network = vfs::Network::parse(text);
    if (!network) return;
    const auto first = std::ranges::find_if(
        seen, [&](const SeenNetwork& other) { return other.network.contains(*network); });
    if (first != seen.end()) line = first->line;
    covered += first == seen.end() ? 0U : 1U;
  }
  for (const std::string& text : rule.clients)
    seen.push_back({*vfs::Network::parse(text), table.line_of("clients")});
  if (covered != 0 && covered == rule.clients.size())
    table.problem("clients", fmt::format("this rule is never reached, as earlier ones name all its clients "
                                         "(one on line {}); write it before them, or remove it",
                                         line));
}

// What a rule does not say is as the export says it.
RuleConfig read_rule(TomlReader table, const ExportConfig& config, std::vector<SeenNetwork>& seen) {
  RuleConfig rule = config;
  rule.clients.clear();
  read_rights(table, rule, "the rule is about nobody; write networks, or remove the rule");
  if (!table.has("clients"))
    table.problem("clients", R"([[export.rule]] has no 'clients'; write clients = ["10.0.0.0/8"])");
  else
    check_reached(table, rule, seen);
  table.finish();
  return rule;
}

// The line of the rule that names the last of the export's own clients; 0: some are left.
std::uint32_t all_named(const ExportConfig& config, const std::vector<SeenNetwork>& seen) {
  const std::vector<std::string> everybody{"0.0.0.0/0", "::/0"};
  std::uint32_t line = 0;
  for (const std::string& text : config.clients.empty() ? everybody : config.clients) {
    const auto network = vfs::Network::parse(text);
    if (!network) return 0;
    const auto first = std::ranges::find_if(
        seen, [&](const SeenNetwork& other) { return other.network.contains(*network); });
    if (first == seen.end()) return 0;
    line = std::max(line, first->line);
  }
  return line;
}

void read_rules(TomlReader& table, ExportConfig& config) {
  const toml::node* const node = table.node("rule");
  if (node == nullptr) return;
  const toml::array* const rules = node->as_array();
  if (rules == nullptr || !rules->is_array_of_tables()) {
    table.problem("rule", fmt::format("'rule' is {}; rules are a list: write [[export.rule]], then clients = "
                                      "[\"10.0.0.0/8\"]",
                                      type_name(*node)));
    return;
  }
  std::vector<SeenNetwork> seen;
  for (const toml::node& element : *rules)
    config.rules.push_back(
        read_rule(TomlReader(*element.as_table(), "[[export.rule]]", table.problems()), config, seen));
  config.unused_line = all_named(config, seen);
}

void read_fsid(TomlReader& table, ExportConfig& config) {
  constexpr std::size_t bytes_max = 64;
  constexpr std::string_view example = R"(fsid = "archive")";
  if (table.text("fsid", config.fsid, example) && (config.fsid.empty() || config.fsid.size() > bytes_max))
    table.problem("fsid", fmt::format("'fsid' has {} bytes; write 1 to {}, e.g. {}", config.fsid.size(),
                                      bytes_max, example));
}

void read_data(TomlReader& table, ExportConfig& config, bool striped_too) {
  std::string data;
  if (!table.text("data", data, R"(data = "local")")) return;
  if (data == "striped") config.data = Data::striped;
  if (data != "striped" && data != "local")
    table.problem("data", fmt::format("'data' is \"{}\"; write \"local\" or \"striped\"", data));
  if (data == "striped" && !striped_too)
    table.problem("data",
                  "'data' is \"striped\", and there are no data servers without a section [pnfs]; add "
                  "one, which may be empty");
}

void read_store_of_export(TomlReader& table, ExportConfig& config, const Config& all) {
  if (!table.text("store", config.store, R"(store = "archive")")) return;
  if (std::ranges::find(all.data_servers, config.store, &DataServerConfig::store) != all.data_servers.end())
    table.problem(
        "store", fmt::format("the store \"{}\" is that of the data server; add another [[store]] for exports",
                             config.store));
  if (std::ranges::find(all.stores, config.store, &StoreConfig::name) == all.stores.end())
    table.problem("store",
                  fmt::format("'store' is \"{0}\", and there is no such store; add [[store]] with name = "
                              "\"{0}\" and a directory",
                              config.store));
  if (config.data == Data::striped)
    table.problem("store",
                  "an export with data = \"striped\" has its bytes on data servers; leave 'store' out");
}

ExportConfig read_export(TomlReader table, const Config& all) {
  ExportConfig config;
  constexpr std::string_view path_example = R"(path = "/data")",
                             directory_example = R"(directory = "/srv/data")";
  if (table.text("path", config.path, path_example)) {
    if (const std::string_view mistake = path_mistake(config.path); !mistake.empty())
      table.problem("path", fmt::format("'path' is \"{}\", which {}; write e.g. {}", config.path, mistake,
                                        path_example));
  } else if (!table.has("path")) {
    table.problem("path", fmt::format("[[export]] has no 'path'; write {}", path_example));
  }
  table.absolute_path("directory", config.directory, directory_example);
  config.line = table.line_of("directory");
  if (!table.has("directory"))
    table.problem("directory", fmt::format("[[export]] has no 'directory'; write {}", directory_example));
  read_rights(table, config,
              "nobody could mount this export; write networks, or remove the key to allow everybody");
  table.boolean("sync", config.sync);
  read_fsid(table, config);
  read_data(table, config, all.pnfs.on);
  read_store_of_export(table, config, all);
  read_rules(table, config);
  table.finish();
  return config;
}

}  // namespace

void read_exports(TomlReader& file, std::string_view name, Config& config) {
  constexpr std::string_view advice = "write [[export]], then path = \"/data\" and directory = \"/srv/data\"";
  const toml::node* const node = file.node(name);
  if (node == nullptr && !config.data_servers.empty()) return;
  std::vector<Problem>& problems = file.problems();
  const toml::array* exports = node == nullptr ? nullptr : node->as_array();
  if (exports == nullptr || !exports->is_array_of_tables()) {
    const std::string what = node == nullptr    ? "there is no export"
                             : node->is_table() ? "[export] is one table; exports are a list"
                                                : fmt::format("'export' is {}", type_name(*node));
    problems.push_back(
        {node == nullptr ? 0 : node->source().begin.line, fmt::format("{}; {}", what, advice)});
    return;
  }
  std::map<std::string, std::uint32_t> line_of_path;
  for (const toml::node& element : *exports) {
    TomlReader table(*element.as_table(), "[[export]]", problems);
    const std::uint32_t line = table.line_of("path");
    config.exports.push_back(read_export(table, config));
    const std::string& path = config.exports.back().path;
    const auto [first, is_new] = line_of_path.emplace(path, line);
    if (!is_new && !path.empty())
      problems.push_back(
          {line, fmt::format("the path \"{}\" is exported twice (first on line {}); write another path", path,
                             first->second)});
  }
}

}  // namespace braid::server::config
