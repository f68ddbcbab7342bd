#include "pnfs_mds/layouts/devices.h"

#include "base/big_endian.h"
#include "hashing/digest.h"

namespace braid::pnfs_mds::layouts {

DeviceId Devices::id_of(const std::vector<Member>& servers) {
  constexpr std::size_t bytes_each = 12;
  base::Bytes list(servers.size() * bytes_each);
  std::vector<pnfs::ServerNumber> numbers;
  numbers.reserve(servers.size());
  for (std::size_t i = 0; i < servers.size(); ++i) {
    base::store_be(list, i * bytes_each, servers[i].number.value());
    base::store_be(list, i * bytes_each + 4, servers[i].generation);
    numbers.push_back(servers[i].number);
  }
  // Not a secret: only names that differ are wanted.
  const DeviceId id = pnfs::sign(hashing::Key(), {cluster_, list}).bytes;
  table_.with([&](Table& table) {
    if (!table.by_id.try_emplace(id, std::move(numbers)).second) return;
    table.order.push_back(id);
    if (table.order.size() <= devices_max) return;
    table.by_id.erase(table.order.front());
    table.order.pop_front();
  });
  return id;
}

std::optional<std::vector<pnfs::ServerNumber>> Devices::find(const DeviceId& id) const {
  return table_.with([&](const Table& table) -> std::optional<std::vector<pnfs::ServerNumber>> {
    const auto found = table.by_id.find(id);
    if (found == table.by_id.end()) return std::nullopt;
    return found->second;
  });
}

}  // namespace braid::pnfs_mds::layouts
