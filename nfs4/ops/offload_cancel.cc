#include "nfs4/copy_jobs.h"
#include "nfs4/ops/extended_operations.h"
#include "nfs4/server_state.h"
#include "nfs4/state/clients/client.h"

namespace braid::nfs4::ops {

Op4<> offload_cancel(Compound& compound, const OFFLOAD_CANCEL4args& args) {
  CopyJobs* const jobs = compound.server().copies;
  const state::ClientRef client = compound.client();
  if (jobs == nullptr || client == nullptr) co_await refuse(nfsstat4::NFS4ERR_BAD_STATEID);
  const auto cancelled = co_await jobs->cancel(client->id, args.oca_stateid).as_result();
  if (!cancelled || !*cancelled) co_await refuse(nfsstat4::NFS4ERR_BAD_STATEID);
}

}  // namespace braid::nfs4::ops
