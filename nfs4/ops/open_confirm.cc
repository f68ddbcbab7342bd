#include "nfs4/ops/open_operations.h"
#include "nfs4/ops/owner_sequence.h"
#include "nfs4/ops/state_access.h"

namespace braid::nfs4::ops {

namespace {

Op4<OPEN_CONFIRM4resok> confirm(Compound& compound, stateid4 id) {
  const vfs::FileHandle file = compound.current().file->handle();
  const state::StateUse use = use_of(compound, id, file);
  const stateid4 confirmed = co_await with_own_state<stateid4>(
      compound, [&](state::States& states, state::DeferredWork&) { return states.opens().confirm(use); });
  co_return OPEN_CONFIRM4resok{confirmed};
}

}  // namespace

Op4<OPEN_CONFIRM4resok> open_confirm(Compound& compound, const OPEN_CONFIRM4args& args) {
  co_await compound.current_in_export(nfsstat4::NFS4ERR_BAD_STATEID);
  co_return co_await in_sequence(
      compound, {args.open_stateid, state::StateKind::open, args.seqid, nfs_opnum4::OP_OPEN_CONFIRM},
      confirm(compound, args.open_stateid));
}

}  // namespace braid::nfs4::ops
