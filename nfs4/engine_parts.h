// What makes one NFSv4 server of a process different from another.
#pragma once

#include <cstdint>
#include <vector>

#include "nfs4/handle_resolver.h"
#include "nfs4/io_authorizer.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/operations.h"
#include "nfs4/state/clients/client_observer.h"
#include "nfs4/state/kind.h"

namespace braid::nfs4 {

// A value; as it is made, that of a server without pNFS. What is pointed to outlives the engine.
struct EngineParts {
  OperationTable operations = standard_operations();
  // EXCHGID4_FLAG_USE_*, in answers to EXCHANGE_ID (RFC 8881 13.1).
  std::uint32_t role_flags = EXCHGID4_FLAG_USE_NON_PNFS;
  // fs_layout_type of exports whose files are spread over data servers; empty: the attribute is not
  // supported.
  std::vector<layouttype4> layout_types;
  HandleResolver* handles = nullptr;   // null: handles are those of exports
  IoAuthorizer* authorizer = nullptr;  // null: opens, locks and delegations say who may read and write
  std::vector<state::Kind*> kinds;     // of state, beside opens, locks and delegations
  std::vector<state::ClientObserver*> observers;  // called after the engine's own
};

}  // namespace braid::nfs4
