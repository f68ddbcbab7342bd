#include "nfs4/ops/open_operations.h"
#include "nfs4/ops/open_support.h"
#include "nfs4/ops/owner_sequence.h"
#include "nfs4/ops/state_access.h"

namespace braid::nfs4::ops {

namespace {

Op4<OPEN_DOWNGRADE4resok> run(Compound& compound, stateid4 id, std::uint32_t access, std::uint32_t deny) {
  // RFC 8881 18.18.3: wants for delegations have no meaning here.
  const std::uint32_t bits = compound.minor_version() == 0 ? access : access & OPEN4_SHARE_ACCESS_BOTH;
  const state::Share share = co_await share_of(bits, deny);
  const vfs::FileHandle file = compound.current().file->handle();
  const state::StateUse use = use_of(compound, id, file);
  const stateid4 left =
      co_await with_own_state<stateid4>(compound, [&](state::States& states, state::DeferredWork& after) {
        return states.opens().downgrade(use, share, after);
      });
  compound.set_current_stateid(left);
  co_return OPEN_DOWNGRADE4resok{left};
}

}  // namespace

Op4<OPEN_DOWNGRADE4resok> open_downgrade(Compound& compound, const OPEN_DOWNGRADE4args& args) {
  co_await compound.current_in_export(nfsstat4::NFS4ERR_BAD_STATEID);
  const stateid4 id = co_await compound.named(args.open_stateid);
  co_return co_await in_sequence(compound,
                                 {id, state::StateKind::open, args.seqid, nfs_opnum4::OP_OPEN_DOWNGRADE},
                                 run(compound, id, args.share_access, args.share_deny));
}

}  // namespace braid::nfs4::ops
