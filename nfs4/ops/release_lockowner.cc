#include "nfs4/ops/open_operations.h"
#include "nfs4/ops/state_access.h"

namespace braid::nfs4::ops {

Op4<> release_lockowner(Compound& compound, const RELEASE_LOCKOWNER4args& args) {
  const state::ClientRef client =
      co_await compound.server().clients.find_and_renew_40(args.lock_owner.clientid, compound.now());
  const std::string_view owner = base::text_of(args.lock_owner.owner);
  co_await in_portions(compound, [&](state::States& states, state::DeferredWork& after) {
    return states.locks().release_owner(client->id, owner, after);
  });
}

}  // namespace braid::nfs4::ops
