// [data_server]
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "rpc/socket_address.h"
#include "server/config/endpoint.h"
#include "server/config/section.h"

namespace braid::server::config {
namespace {

constexpr std::string_view objects_example = R"(directory = "/srv/objects")";
constexpr std::string_view mds_example = R"(mds = "mds.example.com:2049")";
constexpr std::string_view secret_example = R"(secret = "/etc/braid/cluster.secret")";
constexpr std::size_t name_bytes_max = 255;

void need(TomlReader& table, std::string_view key, std::string_view example) {
  if (!table.has(key)) table.problem(key, fmt::format("[data_server] has no '{}'; write {}", key, example));
}

void read_served_addresses(TomlReader& table, DataServerConfig& config) {
  table.texts("listen", config.listen, R"(listen = ["192.0.2.1"])");
  for (const std::string& address : config.listen)
    if (!rpc::parse_address(address, 0))
      table.problem("listen", fmt::format("'listen' holds \"{}\", which is no IP address; write an address "
                                          "without a port, e.g. \"192.0.2.1\" or \"::\"",
                                          address));
  table.texts("advertise", config.advertise, R"(advertise = ["192.0.2.1"])");
  for (const std::string& address : config.advertise)
    if (!parse_advertised(address, 0))
      table.problem("advertise",
                    fmt::format("'advertise' holds \"{}\"; write an IP address, with a port if clients reach "
                                "it by another one, e.g. \"192.0.2.1\" or \"192.0.2.1:2049\"",
                                address));
}

// true, or another port than the usual one.
void read_rdma_port(TomlReader& table, const TomlReader& file, const Config& all, DataServerConfig& config) {
  const toml::node* const node = table.node("rdma");
  if (node == nullptr) return;
  const auto port = node->value_exact<std::int64_t>();
  const auto on = node->value_exact<bool>();
  if (on && *on) config.rdma = RdmaConfig().port;
  if (port && *port >= 1 && *port <= std::numeric_limits<std::uint16_t>::max())
    config.rdma = static_cast<std::uint16_t>(*port);
  else if (!on)
    table.problem("rdma",
                  "'rdma' in [data_server] is true, false or a port from 1 to 65535; write rdma = true");
  if (config.rdma && all.rdma.on && config.rdma == all.rdma.port && file.has("export"))
    table.problem("rdma",
                  fmt::format("the data server and the exports both use the RDMA port {}; write another "
                              "one, e.g. rdma = {}",
                              *config.rdma, *config.rdma + 1));
}

void read_store_of_objects(TomlReader& table, DataServerConfig& config,
                           const std::vector<StoreConfig>& stores) {
  if (!table.text("store", config.store, R"(store = "objects")")) return;
  if (std::ranges::find(stores, config.store, &StoreConfig::name) == stores.end())
    table.problem("store",
                  fmt::format("'store' is \"{0}\", and there is no such store; add [[store]] with name = "
                              "\"{0}\" and its directory",
                              config.store));
}

}  // namespace

void read_data_server(TomlReader& file, std::string_view name, Config& all) {
  auto section = file.section(name);
  if (!section) return;
  TomlReader& table = *section;
  DataServerConfig& config = all.data_servers.emplace_back();
  table.absolute_path("directory", config.directory, objects_example);
  need(table, "directory", objects_example);
  if (table.text("mds", config.mds, mds_example) && !split_host_port(config.mds))
    table.problem("mds", fmt::format("'mds' is \"{}\"; write a name or an address with a port: {}",
                                     config.mds, mds_example));
  need(table, "mds", mds_example);
  table.absolute_path("secret", config.secret, secret_example);
  need(table, "secret", secret_example);
  constexpr std::string_view name_example = R"(name = "ds1")";
  if (table.text("name", config.name, name_example) &&
      (config.name.empty() || config.name.size() > name_bytes_max))
    table.problem("name", fmt::format("'name' has {} bytes; write 1 to {}: {}", config.name.size(),
                                      name_bytes_max, name_example));
  table.integer<std::uint16_t>("port", config.port, 0);
  if (config.port != 0 && config.port == all.port && file.has("export"))
    table.problem("port",
                  fmt::format("the data server and the exports both use port {}; write another 'port' "
                              "in [data_server]",
                              config.port));
  read_served_addresses(table, config);
  read_rdma_port(table, file, all, config);
  read_control_transport(table, config.control_transport,
                         {.has_rdma = config.rdma.has_value(), .section = "data_server"});
  read_control_integrity(table, config.signs_bulk);
  read_store_of_objects(table, config, all.stores);
  table.finish();
}

}  // namespace braid::server::config
