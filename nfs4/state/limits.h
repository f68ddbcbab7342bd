// How much state clients may have.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"
#include "nfs4/nfs4.x.h"

namespace braid::nfs4::state {

struct StateLimits {
  std::uint32_t states_max = 4U << 20;         // of all clients together
  std::uint32_t states_per_client = 1U << 20;  // opens, locks and delegations
  std::uint32_t owners_max = 1U << 20;         // open and lock owners of all clients together
  std::uint32_t owners_per_client = 1U << 16;  // open owners, and as many lock owners
  std::uint32_t lock_ranges_max = 1U << 20;    // of all clients together
  std::uint32_t lock_ranges_per_client = 1U << 18;
  // Of all clients: what one call does with a file is bounded by it, and so is what the kernel looks at.
  std::uint32_t lock_ranges_per_file = 1U << 14;
  // Places in the queues of files, of those who wait for locks. Who gets none asks again all the same.
  std::uint32_t lock_waits_max = 1U << 16;  // of all clients together
  std::uint32_t lock_waits_per_client = 1U << 10;
  std::uint32_t delegations_max = 1U << 14;  // of all clients together; each keeps two descriptors
  std::uint32_t delegations_per_client = 1U << 13;
  // How long who waits for a lock keeps its place without asking again. Linux asks after 30 s at the latest.
  base::Duration lock_patience = std::chrono::seconds(35);
  // How long others are refused for the sake of one whose turn has come, and who may have given up.
  base::Duration lock_turn = std::chrono::seconds(1);
  // How long a file gets no delegation after one had to be recalled.
  base::Duration contention = std::chrono::seconds(30);
};

// A limit is reached. 4.1 has no NFS4ERR_RESOURCE: the client comes back, and may have closed something.
inline nfsstat4 limit_status(std::uint32_t minor_version) {
  return minor_version == 0 ? nfsstat4::NFS4ERR_RESOURCE : nfsstat4::NFS4ERR_DELAY;
}

}  // namespace braid::nfs4::state
