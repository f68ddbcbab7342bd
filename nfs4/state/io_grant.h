// What READ, WRITE and the like may work with.
#pragma once

#include "nfs4/state/clients/client.h"
#include "vfs/open_file.h"

namespace braid::nfs4::state {

struct IoGrant {
  vfs::OpenFileRef open;  // null: under the caller's own rights
  ClientRef client;       // null: no state was named
  bool borrowed = false;  // somebody else than the caller opened the file
};

}  // namespace braid::nfs4::state
