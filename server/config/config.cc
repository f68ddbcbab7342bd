#include "server/config/config.h"

#include <fmt/format.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

#include "rpc/socket_address.h"
#include "server/config/endpoint.h"
#include "server/config/toml_reader.h"
#include "server/config/units.h"

namespace braid::server::config {
namespace {

constexpr std::uint32_t nobody_max = 0xfffffffe;  // 2^32 - 1 means "leave it" in chown(2)
constexpr std::size_t page_bytes = 4096;

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

// Labels of letters, digits, '-' and '_', with dots between them.
bool is_domain(std::string_view text) {
  constexpr std::size_t domain_bytes_max = 253;  // RFC 1035 2.3.4
  constexpr std::string_view others = "-_.";
  const auto allowed = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || others.contains(c);
  };
  if (text.empty() || text.size() > domain_bytes_max || !std::ranges::all_of(text, allowed)) return false;
  return text.front() != '.' && text.back() != '.' && !text.contains("..");
}

void absolute_path(TomlReader& table, std::string_view key, std::string& out, std::string_view example) {
  if (!table.text(key, out, example)) return;
  if (out.empty() || out.front() != '/')
    table.problem(key, fmt::format("'{}' is \"{}\"; write an absolute path: {}", key, out, example));
}

void read_listen(TomlReader& table, Config& config) {
  if (!table.texts("listen", config.listen, R"(listen = ["0.0.0.0", "::"])")) return;
  for (const std::string& address : config.listen)
    if (!rpc::parse_address(address, 0))
      table.problem("listen",
                    fmt::format("'listen' holds \"{}\", which is no IP address; write an address without a "
                                "port, e.g. \"192.0.2.1\" or \"::\"; the port is the key 'port'",
                                address));
}

void read_metrics(TomlReader& table, Config& config) {
  constexpr std::string_view example = R"(metrics = "127.0.0.1:9049")";
  std::string text;
  if (!table.text("metrics", text, example)) return;
  config.metrics = parse_endpoint(text);
  if (!config.metrics)
    table.problem("metrics",
                  fmt::format("'metrics' is \"{}\"; write an address with a port: {}", text, example));
  else if (config.metrics->port == config.port)
    table.problem("metrics", fmt::format("'metrics' and 'port' both use port {}; write another port: {}",
                                         config.port, example));
}

// Owners in NFSv4: docs/protocol-nfs4-attributes.md.
void read_owners(TomlReader& table, Config& config) {
  constexpr std::string_view example = R"(idmap_domain = "example.com")";
  std::string& domain = config.idmap_domain;
  if (table.text("idmap_domain", domain, example) && !is_domain(domain))
    table.problem("idmap_domain", fmt::format("'idmap_domain' is \"{}\", which is no domain; write e.g. {}",
                                              domain, example));
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  std::ranges::transform(domain, domain.begin(), lower);
  table.boolean("send_names", config.send_names);
  if (config.send_names && !table.has("idmap_domain"))
    table.problem("send_names", fmt::format("'send_names' needs a domain; write it: {}", example));
}

void read_server(TomlReader table, Config& config) {
  constexpr unsigned threads_max = 256;
  read_listen(table, config);
  table.integer<std::uint16_t>("port", config.port, 1);
  table.integer("threads", config.threads, 0u, threads_max);
  absolute_path(table, "state_dir", config.state_dir, R"(state_dir = "/var/lib/braid")");
  absolute_path(table, "admin_socket", config.admin_socket, R"(admin_socket = "/run/braid/admin.sock")");
  if (config.admin_socket.size() >= sizeof(sockaddr_un::sun_path))
    table.problem("admin_socket", fmt::format("'admin_socket' is {} bytes long; write a path of at most {}",
                                              config.admin_socket.size(), sizeof(sockaddr_un::sun_path) - 1));
  read_metrics(table, config);
  bool rpcbind = false;
  if (table.boolean("rpcbind", rpcbind)) config.rpcbind = rpcbind;
  table.boolean("rdma", config.rdma.on);
  std::string level;
  constexpr std::string_view level_example = R"(log_level = "info")";
  if (table.text("log_level", level, level_example)) {
    if (const auto parsed = parse_level(level))
      config.log_level = *parsed;
    else
      table.problem("log_level",
                    fmt::format("'log_level' is \"{}\"; write debug, info, warning or error", level));
  }
  std::string delegations;
  if (table.text("delegations", delegations, R"(delegations = "read")")) {
    if (const auto parsed = parse_delegations(delegations))
      config.delegations = *parsed;
    else
      table.problem("delegations",
                    fmt::format("'delegations' is \"{}\"; write none, read or write", delegations));
  }
  read_owners(table, config);
  table.finish();
}

void read_rdma(TomlReader table, RdmaConfig& config) {
  using base::KiB;
  constexpr unsigned credits_max = 1024;
  table.integer<std::uint16_t>("port", config.port, 1);
  table.integer("credits", config.credits, 1u, credits_max);
  table.bytes("inline_bytes_max", config.inline_bytes_max, KiB, 64 * KiB);
  if (config.inline_bytes_max % KiB != 0)
    table.problem("inline_bytes_max", "'inline_bytes_max' is no multiple of 1 KiB; write e.g. \"4KiB\"");
  std::string registration;
  if (table.text("registration", registration, R"(registration = "cache")")) {
    if (const auto parsed = parse_registration(registration))
      config.registration = *parsed;
    else
      table.problem("registration",
                    fmt::format("'registration' is \"{}\"; write cache, dynamic or odp", registration));
  }
  table.finish();
}

void read_limits(TomlReader table, Limits& limits) {
  using base::GiB, base::KiB, base::MiB;
  constexpr unsigned day_seconds = 86400;
  table.bytes("payload_bytes_max", limits.payload_bytes_max, page_bytes, MiB);
  if (limits.payload_bytes_max % page_bytes != 0)
    table.problem("payload_bytes_max", "'payload_bytes_max' is no multiple of 4 KiB; write e.g. \"1MiB\"");
  table.bytes("buffer_bytes_max", limits.buffer_bytes_max, 16 * MiB, 1024 * GiB);
  table.bytes("replay_cache_bytes_max", limits.replay_cache_bytes_max, 64 * KiB, 64 * GiB);
  table.bytes("connection_bytes_max", limits.connection_bytes_max, 2 * MiB, 64 * GiB);
  table.integer("connections_max", limits.connections_max, 1u, 1'000'000u);
  table.integer("open_files_max", limits.open_files_max, 16u, 10'000'000u);
  table.integer("blocking_threads_max", limits.blocking_threads_max, 1u, 1024u);
  table.integer("idle_seconds", limits.idle_seconds, 0u, 30 * day_seconds);
  table.integer("drain_seconds", limits.drain_seconds, 0u, 3600u);
  table.integer("lease_seconds", limits.lease_seconds, 5u, 3600u);
  table.integer("courtesy_seconds", limits.courtesy_seconds, 0u, 31'536'000u);
  table.integer("delegations_max", limits.delegations_max, 16u, 1'000'000u);
  table.integer("clients_max", limits.clients_max, 16u, 1'000'000u);
  table.integer("states_max", limits.states_max, 1024u, 16'000'000u);
  table.integer("client_states_max", limits.client_states_max, 64u, 16'000'000u);
  table.bytes("session_replies_bytes_max", limits.session_replies_bytes_max, MiB, 64 * GiB);
  if (limits.connection_bytes_max > limits.buffer_bytes_max)
    table.problem(
        "connection_bytes_max",
        fmt::format("'connection_bytes_max' ({}) is more than 'buffer_bytes_max' ({}); write less, or a "
                    "greater buffer_bytes_max",
                    bytes_text(limits.connection_bytes_max), bytes_text(limits.buffer_bytes_max)));
  table.finish();
}

void read_squash(TomlReader& table, ExportConfig& config) {
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

void read_clients(TomlReader& table, ExportConfig& config) {
  if (!table.texts("clients", config.clients, R"(clients = ["10.0.0.0/8"])")) return;
  for (const std::string& network : config.clients)
    if (!vfs::Network::parse(network))
      table.problem("clients",
                    fmt::format("'clients' holds \"{}\", which is no network; write e.g. \"10.0.0.0/8\", "
                                "\"fd00::/8\" or one address",
                                network));
  if (config.clients.empty())
    table.problem("clients",
                  "'clients' is empty, so nobody could mount this export; write networks, or remove the "
                  "key to allow everybody");
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

void read_fsid(TomlReader& table, ExportConfig& config) {
  constexpr std::size_t bytes_max = 64;
  constexpr std::string_view example = R"(fsid = "archive")";
  if (table.text("fsid", config.fsid, example) && (config.fsid.empty() || config.fsid.size() > bytes_max))
    table.problem("fsid", fmt::format("'fsid' has {} bytes; write 1 to {}, e.g. {}", config.fsid.size(),
                                      bytes_max, example));
}

ExportConfig read_export(TomlReader table) {
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
  absolute_path(table, "directory", config.directory, directory_example);
  if (!table.has("directory"))
    table.problem("directory", fmt::format("[[export]] has no 'directory'; write {}", directory_example));
  read_squash(table, config);
  table.boolean("read_only", config.read_only);
  table.boolean("sync", config.sync);
  read_clients(table, config);
  read_fsid(table, config);
  read_security(table);
  table.finish();
  return config;
}

void read_exports(const toml::node* node, Config& config, std::vector<Problem>& problems) {
  constexpr std::string_view advice = "write [[export]], then path = \"/data\" and directory = \"/srv/data\"";
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
    config.exports.push_back(read_export(table));
    const std::string& path = config.exports.back().path;
    const auto [first, is_new] = line_of_path.emplace(path, line);
    if (!is_new && !path.empty())
      problems.push_back(
          {line, fmt::format("the path \"{}\" is exported twice (first on line {}); write another path", path,
                             first->second)});
  }
}

// The table of this key, or null with a problem if the key is something else.
const toml::table* section(TomlReader& root, std::string_view key) {
  const toml::node* node = root.node(key);
  if (node == nullptr) return nullptr;
  if (!node->is_table())
    root.problem(key, fmt::format("'{0}' is {1}; write the section [{0}]", key, type_name(*node)));
  return node->as_table();
}

}  // namespace

std::expected<Config, std::vector<Problem>> parse_config(std::string_view text) {
  toml::parse_result parsed = toml::parse(text);
  std::vector<Problem> problems;
  if (!parsed) {
    problems.push_back({parsed.error().source().begin.line,
                        fmt::format("{}; write TOML (https://toml.io)", parsed.error().description())});
    return std::unexpected(std::move(problems));
  }
  Config config;
  TomlReader root(parsed.table(), "the file", problems);
  if (const toml::table* table = section(root, "server")) read_server({*table, "[server]", problems}, config);
  if (const toml::table* table = section(root, "limits"))
    read_limits({*table, "[limits]", problems}, config.limits);
  if (const toml::table* table = section(root, "rdma")) read_rdma({*table, "[rdma]", problems}, config.rdma);
  read_exports(root.node("export"), config, problems);
  root.finish();
  if (problems.empty()) return config;
  std::ranges::stable_sort(problems, {}, &Problem::line);
  return std::unexpected(std::move(problems));
}

std::expected<Config, std::vector<Problem>> read_config(const std::string& file) {
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) {
    const std::string why = errno != 0 ? base::message_of(base::last_errno()) : "it is empty";
    return std::unexpected(std::vector<Problem>{{0, fmt::format("cannot be read: {}", why)}});
  }
  return parse_config(text.str());
}

std::string problems_text(std::string_view file, const std::vector<Problem>& problems) {
  std::string out;
  for (const Problem& problem : problems) {
    if (problem.line == 0)
      fmt::format_to(std::back_inserter(out), "{}: {}\n", file, problem.what);
    else
      fmt::format_to(std::back_inserter(out), "{}:{}: {}\n", file, problem.line, problem.what);
  }
  return out;
}

std::optional<vfs::Squash> parse_squash(std::string_view text) {
  for (vfs::Squash squash : {vfs::Squash::none, vfs::Squash::root, vfs::Squash::all})
    if (text == name_of(squash)) return squash;
  return std::nullopt;
}

std::string_view name_of(vfs::Squash squash) {
  switch (squash) {
    case vfs::Squash::none:
      return "none";
    case vfs::Squash::root:
      return "root";
    case vfs::Squash::all:
      return "all";
  }
  return "root";
}

std::optional<base::Level> parse_level(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, base::Level>, 4> levels{{{"debug", base::Level::debug},
                                                                            {"info", base::Level::info},
                                                                            {"warning", base::Level::warning},
                                                                            {"error", base::Level::error}}};
  for (const auto& [name, level] : levels)
    if (text == name) return level;
  return std::nullopt;
}

std::optional<nfs4::Delegations> parse_delegations(std::string_view text) {
  if (text == "none") return nfs4::Delegations::none;
  if (text == "read") return nfs4::Delegations::read;
  if (text == "write") return nfs4::Delegations::write;
  return std::nullopt;
}

std::optional<rdma::Registration> parse_registration(std::string_view text) {
  for (rdma::Registration one :
       {rdma::Registration::cache, rdma::Registration::dynamic, rdma::Registration::odp})
    if (text == rdma::name_of(one)) return one;
  return std::nullopt;
}

}  // namespace braid::server::config
