#include <optional>

#include "nfs4/ops/lock_support.h"
#include "nfs4/ops/open_operations.h"
#include "nfs4/ops/owner_sequence.h"
#include "nfs4/ops/state_access.h"

namespace braid::nfs4::ops {

namespace {

Op4<stateid4> run(Compound& compound, stateid4 id, offset4 offset, length4 length) {
  state::ByteRange range = co_await range_of(offset, length);
  const vfs::FileHandle file = compound.current().file->handle();
  const state::StateUse use = use_of(compound, id, file);
  const auto unlock_some = [&](state::States& states, state::DeferredWork& after) {
    return states.locks().unlock(use, range, after);
  };
  for (;;) {
    const auto left = co_await with_own_state<std::optional<stateid4>>(compound, unlock_some);
    if (left) {
      compound.set_current_stateid(*left);
      co_return *left;
    }
    (void)co_await let_others_run().as_result();
  }
}

}  // namespace

Op4<stateid4> locku(Compound& compound, const LOCKU4args& args) {
  co_await compound.current_in_export(nfsstat4::NFS4ERR_BAD_STATEID);
  const stateid4 id = co_await compound.named(args.lock_stateid);
  co_return co_await in_sequence(compound, {id, state::StateKind::lock, args.seqid, nfs_opnum4::OP_LOCKU},
                                 run(compound, id, args.offset, args.length));
}

}  // namespace braid::nfs4::ops
