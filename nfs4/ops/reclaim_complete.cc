#include "nfs4/clients.h"
#include "nfs4/ops/client_operations.h"

namespace braid::nfs4::ops {

// RFC 8881 18.51. With rca_one_fs the client has done with a file system that came here from another server;
// none ever does, so there is nothing to remember.
Op4<> reclaim_complete(Compound& compound, const RECLAIM_COMPLETE4args& args) {
  if (!args.rca_one_fs) return compound.server().clients.reclaim_complete(compound.client());
  if (!compound.current()) return refuse(nfsstat4::NFS4ERR_NOFILEHANDLE);
  return Result4<void>();
}

}  // namespace braid::nfs4::ops
