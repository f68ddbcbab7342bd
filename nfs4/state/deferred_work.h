// What a change of state leaves to be done once the lock on the states is released: everything that waits.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/op.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/state/clients/client.h"
#include "nfs4/state/state_table.h"
#include "vfs/open_file.h"
#include "vfs/types.h"

namespace braid::nfs4::state {

// CB_RECALL is to be sent.
struct Recall {
  ClientRef client;
  stateid4 id;
  vfs::FileHandle file;
};

// CB_NOTIFY_LOCK is to be sent: it is this owner's turn.
struct LockTurn {
  clientid4 client = 0;
  std::string owner;
  vfs::FileHandle file;
};

// The file system is to be told that an owner holds this range no more.
struct ReleasedRange {
  vfs::OpenFileRef open;  // of the file
  vfs::LockOwnerId owner;
  vfs::LockRange range;
};

// Filled under the lock and done after it (ops::settle()). `unused` and `leases` close files when they are
// destroyed, so that must not happen under the lock either.
struct DeferredWork {
  std::vector<Recall> recalls;
  std::vector<LockTurn> turns;
  std::vector<ReleasedRange> released;
  std::vector<std::unique_ptr<State>> gone;
  std::vector<vfs::OpenFileRef> unused;
  std::vector<vfs::LeaseRef> leases;
  std::vector<std::move_only_function<io::Op<>()>> more;  // of kinds that have been added; after all else
};

}  // namespace braid::nfs4::state
