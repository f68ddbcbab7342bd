// [server]
#include <fmt/format.h>
#include <sys/un.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "rpc/socket_address.h"
#include "server/config/endpoint.h"
#include "server/config/section.h"

namespace braid::server::config {
namespace {

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

void read_log_level(TomlReader& table, Config& config) {
  std::string level;
  constexpr std::string_view level_example = R"(log_level = "info")";
  if (table.text("log_level", level, level_example)) {
    if (const auto parsed = parse_level(level))
      config.log_level = *parsed;
    else
      table.problem("log_level",
                    fmt::format("'log_level' is \"{}\"; write debug, info, warning or error", level));
  }
}

void read_delegations(TomlReader& table, Config& config) {
  std::string delegations;
  if (table.text("delegations", delegations, R"(delegations = "read")")) {
    if (const auto parsed = parse_delegations(delegations))
      config.delegations = *parsed;
    else
      table.problem("delegations",
                    fmt::format("'delegations' is \"{}\"; write none, read or write", delegations));
  }
}

}  // namespace

void read_server(TomlReader& file, std::string_view name, Config& config) {
  auto section = file.section(name);
  if (!section) return;
  TomlReader& table = *section;
  constexpr unsigned threads_max = 256;
  read_listen(table, config);
  table.integer<std::uint16_t>("port", config.port, 1);
  table.integer("threads", config.threads, 0u, threads_max);
  table.absolute_path("state_dir", config.state_dir, R"(state_dir = "/var/lib/braid")");
  table.absolute_path("admin_socket", config.admin_socket, R"(admin_socket = "/run/braid/admin.sock")");
  if (config.admin_socket.size() >= sizeof(sockaddr_un::sun_path))
    table.problem("admin_socket", fmt::format("'admin_socket' is {} bytes long; write a path of at most {}",
                                              config.admin_socket.size(), sizeof(sockaddr_un::sun_path) - 1));
  read_metrics(table, config);
  bool rpcbind = false;
  if (table.boolean("rpcbind", rpcbind)) config.rpcbind = rpcbind;
  table.boolean("rdma", config.rdma.on);
  read_log_level(table, config);
  read_delegations(table, config);
  read_owners(table, config);
  table.finish();
}

}  // namespace braid::server::config
