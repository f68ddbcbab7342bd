#include "pnfs_mds/layouts/devices.h"

#include "base/big_endian.h"
#include "hashing/digest.h"

namespace braid::pnfs_mds::layouts {

// Not a secret: only names that differ are wanted.
DeviceId Devices::make_id(const std::vector<Member>& servers) const {
  constexpr std::size_t bytes_each = 12;
  base::Bytes list(servers.size() * bytes_each);
  for (std::size_t i = 0; i < servers.size(); ++i) {
    base::store_be(list, i * bytes_each, servers[i].number.value());
    base::store_be(list, i * bytes_each + 4, servers[i].generation);
  }
  return pnfs::sign(hashing::Key(), {cluster_, list}).bytes;
}

DeviceId Devices::id_of(const std::vector<Member>& servers) {
  return table_.with([&](Table& table) {
    const auto known = table.by_servers.find(servers);
    if (known != table.by_servers.end()) return known->second;
    const DeviceId id = make_id(servers);
    table.order.push_back(table.by_servers.emplace(servers, id).first);
    std::vector<pnfs::ServerNumber>& numbers = table.by_id[id];
    numbers.reserve(servers.size());
    for (const Member& server : servers) numbers.push_back(server.number);
    if (table.order.size() <= devices_max) return id;
    table.by_id.erase(table.order.front()->second);
    table.by_servers.erase(table.order.front());
    table.order.pop_front();
    return id;
  });
}

std::optional<std::vector<pnfs::ServerNumber>> Devices::find(const DeviceId& id) const {
  return table_.with([&](const Table& table) -> std::optional<std::vector<pnfs::ServerNumber>> {
    const auto found = table.by_id.find(id);
    if (found == table.by_id.end()) return std::nullopt;
    return found->second;
  });
}

}  // namespace braid::pnfs_mds::layouts
