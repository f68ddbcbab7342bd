#include "nfs4/ops/open_operations.h"
#include "nfs4/ops/owner_sequence.h"
#include "nfs4/ops/state_access.h"

namespace braid::nfs4::ops {

namespace {

Op4<stateid4> close_open(Compound& compound, stateid4 id) {
  const vfs::FileHandle file = compound.current().file->handle();
  const state::StateUse use = use_of(compound, id, file);
  co_await in_portions(compound, [&](state::States& states, state::DeferredWork& after) {
    return states.locks().end_some(use, after);
  });
  const stateid4 closed = co_await with_own_state<stateid4>(
      compound,
      [&](state::States& states, state::DeferredWork& after) { return states.opens().close(use, after); });
  compound.set_current_stateid(closed);
  co_return closed;
}

}  // namespace

Op4<stateid4> close(Compound& compound, const CLOSE4args& args) {
  co_await compound.current_in_export(nfsstat4::NFS4ERR_BAD_STATEID);
  const stateid4 id = co_await compound.named(args.open_stateid);
  co_return co_await in_sequence(compound, {id, state::StateKind::open, args.seqid, nfs_opnum4::OP_CLOSE},
                                 close_open(compound, id));
}

}  // namespace braid::nfs4::ops
