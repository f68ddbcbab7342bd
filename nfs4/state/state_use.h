// How an operation refers to state, and why it is refused.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/state/clients/client.h"
#include "vfs/types.h"

namespace braid::nfs4::state {

// The caller that opens or uses a file, as the export sees it.
struct Opener {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  friend bool operator==(const Opener&, const Opener&) = default;
};

// The stateid that an operation brought, the file it is about, and who it is from.
struct StateUse {
  stateid4 id;
  std::uint32_t minor_version = 0;
  ClientRef client;  // of the session; null in 4.0, where any request may bring any stateid
  const vfs::FileHandle& file;
  base::TimePoint now{};
  Opener caller{};  // for authorize() and check_timestamps()
};

// Why something was refused. `blockers`: the clients whose state is in the way; if one of them has let its
// lease run out, it can be removed and the operation tried again.
struct Refusal {
  nfsstat4 status = nfsstat4::NFS4ERR_SERVERFAULT;
  std::vector<ClientRef> blockers;
};

inline base::Failure<Refusal> refused(nfsstat4 status) { return base::Failure<Refusal>{{status, {}}}; }

}  // namespace braid::nfs4::state
