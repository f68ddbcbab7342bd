#include "nfs4/ops/open_operations.h"
#include "nfs4/ops/state_access.h"

namespace braid::nfs4::ops {

// Delegations do not outlive their client (CLAIM_DELEGATE_PREV), so there is never one to purge: RFC 8881
// 18.5.3 wants NOTSUPP then.
Op4<> delegpurge(Compound& compound, const DELEGPURGE4args& args) {
  co_await client_of(compound, args.clientid);
  co_await refuse(nfsstat4::NFS4ERR_NOTSUPP);
}

}  // namespace braid::nfs4::ops
