#include <span>

#include "nfs4/ops/open_operations.h"

namespace braid::nfs4::ops {

Op4<TEST_STATEID4resok> test_stateid(Compound& compound, const TEST_STATEID4args& args) {
  const state::ClientRef client = compound.client();
  bool fits = false;
  const std::span<nfsstat4> statuses = compound.arena().make<nfsstat4>(args.ts_stateids.size(), fits);
  if (!fits) return refuse(nfsstat4::NFS4ERR_DELAY);
  compound.server().states.with([&](const state::States& states) {
    for (std::size_t i = 0; i < statuses.size(); ++i) statuses[i] = states.test(args.ts_stateids[i], *client);
  });
  return TEST_STATEID4resok{statuses};
}

}  // namespace braid::nfs4::ops
