// Devices: the servers of a layout, and where clients reach them (RFC 8881 sections 12.2.2 and 13.2).
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/guarded.h"
#include "pnfs/keys.h"
#include "pnfs/layout_record.h"
#include "pnfs_mds/data_servers.h"

namespace braid::pnfs_mds::layouts {

// deviceid4
using DeviceId = std::array<std::byte, 16>;

// One for each list of servers. A server that has restarted, or has other addresses, makes it another device:
// a Linux client keeps a device that failed out of use for two minutes, and does not take the new one for it.
// Thread-safe.
class Devices {
 public:
  // So many are known. Of one that is forgotten a client hears NFS4ERR_NOENT, and asks for a new layout.
  static constexpr std::size_t devices_max = 4096;

  explicit Devices(const pnfs::ClusterId& cluster) : cluster_(cluster) {}

  // A server, and ServerStanding::generation.
  struct Member {
    pnfs::ServerNumber number;
    std::uint64_t generation = 0;
    friend auto operator<=>(const Member&, const Member&) = default;
  };
  // The device of these servers, as they are now.
  DeviceId id_of(const std::vector<Member>& servers);
  // Its servers, in their order; nothing for an id that is not known.
  [[nodiscard]] std::optional<std::vector<pnfs::ServerNumber>> find(const DeviceId& id) const;

 private:
  struct Table {
    std::map<std::vector<Member>, DeviceId> by_servers;
    std::map<DeviceId, std::vector<pnfs::ServerNumber>> by_id;
    std::deque<decltype(by_servers)::const_iterator> order;  // the oldest first
  };
  [[nodiscard]] DeviceId make_id(const std::vector<Member>& servers) const;
  const pnfs::ClusterId cluster_;
  base::Guarded<Table> table_;
};

}  // namespace braid::pnfs_mds::layouts
