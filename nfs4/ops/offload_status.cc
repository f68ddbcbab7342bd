#include "nfs4/copy_jobs.h"
#include "nfs4/ops/extended_operations.h"
#include "nfs4/server_state.h"
#include "nfs4/state/clients/client.h"

namespace braid::nfs4::ops {

Op4<OFFLOAD_STATUS4resok> offload_status(Compound& compound, const OFFLOAD_STATUS4args& args) {
  CopyJobs* const jobs = compound.server().copies;
  const state::ClientRef client = compound.client();
  if (jobs == nullptr || client == nullptr) return refuse(nfsstat4::NFS4ERR_BAD_STATEID);
  const auto status = jobs->status(client->id, args.osa_stateid);
  if (!status) return refuse(nfsstat4::NFS4ERR_BAD_STATEID);
  OFFLOAD_STATUS4resok out;
  out.osr_count = status->copied;
  if (status->ended) {
    bool fits = false;
    const std::span<nfsstat4> ended = compound.arena().make<nfsstat4>(1, fits);
    if (!fits) return refuse(nfsstat4::NFS4ERR_DELAY);
    ended[0] = *status->ended;
    out.osr_complete = ended;
  }
  return out;
}

}  // namespace braid::nfs4::ops
