// Which data servers get a new file.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pnfs/data_handle.h"
#include "pnfs/layout_record.h"
#include "pnfs/striping.h"
#include "pnfs_mds/data_servers.h"
#include "pnfs_mds/stripe_policy.h"

namespace braid::pnfs_mds {

// A server with less than that is given no new file while there are others.
constexpr std::uint64_t room_bytes_min = 256 * base::MiB;

// Of `servers`, which are in contact, those with room if there are any: as many as the policy wants, or all.
// The object's number decides which of them, and where the file begins: so files go round. Nothing: there is
// no server. The epoch is the first one.
std::optional<pnfs::LayoutRecord> choose(const StripePolicy& policy, pnfs::ObjectId object,
                                         const std::vector<ServerRoomLeft>& servers);

}  // namespace braid::pnfs_mds
