// What LOCK, LOCKT and LOCKU share.
#pragma once

#include <cstdint>

#include "io/op.h"
#include "nfs4/compound/compound.h"
#include "nfs4/op4.h"
#include "nfs4/server_state.h"
#include "nfs4/state/locks/ranges.h"
#include "nfs4/state/states.h"
#include "vfs/open_file.h"

namespace braid::nfs4::ops {

// What a lock type stands for; `blocking`: the client will ask again.
struct LockWish {
  state::LockMode mode = state::LockMode::read;
  bool blocking = false;
};
LockWish wish_of(nfs_lock_type4 type);

// INVAL for empty ranges and those that end above 2^64 - 1.
Result4<state::ByteRange> range_of(offset4 offset, length4 length);

// The body of NFS4ERR_DENIED. DELAY when memory is short.
Result4<LOCK4denied> denied(Compound& compound, const state::LockHolder& holder);
// Somebody local, or of another protocol.
LOCK4denied denied(const vfs::LockConflict& conflict);

// RFC 8881 18.10.3, RFC 7530 16.10.5: locks are for regular files. ISDIR, INVAL or as
// Compound::check_regular.
Op4<> check_lockable(Compound& compound);

// Tells those whose turn it is among the owners that wait for what local processes held. To be called now and
// then: nobody tells the server when a local lock ends.
io::Op<> look_for_local_waits(const ServerState& server);

}  // namespace braid::nfs4::ops
