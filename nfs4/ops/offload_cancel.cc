#include "nfs4/copy_jobs.h"
#include "nfs4/ops/extended_operations.h"
#include "nfs4/server_state.h"
#include "nfs4/state/client.h"

namespace braid::nfs4::ops {

Op4<> offload_cancel(Compound& compound, const OFFLOAD_CANCEL4args& args) {
  CopyJobs* const jobs = compound.server().copies;
  const state::ClientRef client = compound.client();
  const bool cancelled = jobs != nullptr && client != nullptr && jobs->cancel(client->id, args.oca_stateid);
  if (!cancelled) return refuse(nfsstat4::NFS4ERR_BAD_STATEID);
  return Result4<void>();
}

}  // namespace braid::nfs4::ops
