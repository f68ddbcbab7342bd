#include "nfs4/state/opens/owner_sequence.h"

#include <utility>

#include "base/assert.h"

namespace braid::nfs4::state {

bool leaves_seqid(nfsstat4 status) {
  switch (status) {
    case nfsstat4::NFS4ERR_STALE_CLIENTID:
    case nfsstat4::NFS4ERR_STALE_STATEID:
    case nfsstat4::NFS4ERR_BAD_STATEID:
    case nfsstat4::NFS4ERR_BAD_SEQID:
    case nfsstat4::NFS4ERR_BADXDR:
    case nfsstat4::NFS4ERR_RESOURCE:
    case nfsstat4::NFS4ERR_NOFILEHANDLE:
    case nfsstat4::NFS4ERR_MOVED:
      return true;
    default:
      return false;
  }
}

OwnerSequence::Turn OwnerSequence::begin(std::uint32_t seqid, nfs_opnum4 op) {
  if (running_) return Turn::busy;
  if (last_ && seqid == *last_) return last_op_ == op ? Turn::replay : Turn::bad;
  if (last_ && seqid != *last_ + 1) return Turn::bad;
  running_ = Running{seqid, op};
  return Turn::run;
}

void OwnerSequence::end(nfsstat4 status, base::Bytes reply) {
  base::check(running_.has_value(), "an operation of the owner runs");
  const Running ended = *running_;
  running_.reset();
  if (leaves_seqid(status)) return;
  last_ = ended.seqid;
  last_op_ = ended.op;
  status_ = status;
  reply_ = std::move(reply);
}

}  // namespace braid::nfs4::state
