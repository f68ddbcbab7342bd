#include "nfs4/ops/open_operations.h"
#include "nfs4/ops/state_access.h"

namespace braid::nfs4::ops {

Op4<> free_stateid(Compound& compound, const FREE_STATEID4args& args) {
  const state::ClientRef client = compound.client();
  const stateid4 id = co_await compound.named(args.fsa_stateid);
  co_await with_own_state<bool>(compound, [&](state::States& states, state::DeferredWork& after) {
    return done(states.free(id, *client, after));
  });
}

}  // namespace braid::nfs4::ops
