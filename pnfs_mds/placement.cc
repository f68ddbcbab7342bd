#include "pnfs_mds/placement.h"

#include <algorithm>

namespace braid::pnfs_mds {

std::optional<pnfs::LayoutRecord> choose(const StripePolicy& policy, pnfs::ObjectId object,
                                         const std::vector<ServerRoomLeft>& servers) {
  std::vector<pnfs::ServerNumber> fit, full;
  fit.reserve(servers.size());
  full.reserve(servers.size());
  for (const ServerRoomLeft& server : servers)
    (server.bytes_available >= room_bytes_min ? fit : full).push_back(server.number);
  if (fit.empty()) fit = std::move(full);
  if (fit.empty()) return std::nullopt;
  const auto width = static_cast<std::uint32_t>(std::min<std::size_t>(policy.width, fit.size()));
  pnfs::LayoutRecord out;
  out.object = object;
  out.epoch = pnfs::Epoch(1);
  // All servers are of use in turn, and, of the files that have the same ones, each of these begins some.
  const std::uint64_t turn = object.value() / fit.size();
  out.striping = {.unit = policy.unit,
                  .width = width,
                  .first = static_cast<std::uint32_t>(turn % width),
                  .packing = policy.packing};
  out.servers.reserve(width);
  for (std::uint32_t i = 0; i < width; ++i) out.servers.push_back(fit[(object.value() + i) % fit.size()]);
  return out;
}

}  // namespace braid::pnfs_mds
