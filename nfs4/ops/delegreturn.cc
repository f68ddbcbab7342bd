#include "nfs4/ops/open_operations.h"
#include "nfs4/ops/state_access.h"

namespace braid::nfs4::ops {

Op4<> delegreturn(Compound& compound, const DELEGRETURN4args& args) {
  co_await compound.current_in_export(nfsstat4::NFS4ERR_BAD_STATEID);
  const stateid4 id = co_await compound.named(args.deleg_stateid);
  const state::StateUse use = use_of(compound, id, compound.current().file->handle());
  co_await with_own_state<bool>(compound, [&](state::States& states, state::DeferredWork& after) {
    return done(states.delegations().give_back(use, after));
  });
}

}  // namespace braid::nfs4::ops
