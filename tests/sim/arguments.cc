// How model clients put their requests, and what statuses mean to them. Some plants sit here, between what
// the client means and what the server is asked.
#include "tests/sim/client.h"

namespace braid::sim {

using enum nfsstat4;

std::string Client::owner_name(std::uint32_t owner, bool locks) const {
  return fmt::format("{}{}.{}", locks ? "l" : "o", owner, incarnation_);
}

Request Client::at_file(std::uint32_t file) const {
  const vfs::FileHandle handle = world_.storage.handle_of(world_.files.at(file));
  Request out;
  out.add(nfs_opnum4::OP_PUTFH, PUTFH4args{handle.view()});
  return out;
}

Request Client::open_request(std::uint32_t owner, std::uint32_t file, std::uint32_t access,
                             std::uint32_t deny, bool reclaim) const {
  const std::string name = owner_name(owner, false);
  const std::string file_name = fmt::format("f{}", file);
  const bool sessions = traits_.minor_version > 0;
  bool previous = reclaim;
  if (world_.plant == Plant::late_reclaim && world_.oracle.grace_over()) previous = false;
  if (world_.plant == Plant::early_grant && !world_.oracle.grace_over() && !sessions) previous = true;
  OPEN4args args;
  args.seqid = sessions ? 0 : seqid(owner);
  if (world_.plant == Plant::miscounted_owners && !sessions) ++args.seqid;
  args.share_access = access;
  // Of one client, and not all: else nobody was ever given a delegation.
  const bool secret = world_.plant == Plant::secret_writers && traits_.index == 0 && last_xid_ % 4 == 0;
  if (secret && !reclaim) args.share_access |= OPEN4_SHARE_ACCESS_WRITE;
  args.share_deny = world_.plant == Plant::ignored_denies ? OPEN4_SHARE_DENY_NONE : deny;
  args.owner = {.clientid = id_, .owner = base::bytes_of(name)};
  args.openhow = openflag4::with_default(opentype4::OPEN4_NOCREATE);
  Request out;
  if (previous) {
    args.claim = open_claim4::with_delegate_type(open_delegation_type4::OPEN_DELEGATE_NONE);
    out = at_file(file);
  } else if (sessions) {
    args.claim = open_claim4::with_CLAIM_FH();
    out = at_file(file);
  } else {
    args.claim = open_claim4::with_file(file_name);
    out.add(nfs_opnum4::OP_PUTROOTFH);
  }
  out.add(nfs_opnum4::OP_OPEN, args);
  return out;
}

Request Client::lock_request(const Claim& claim, Cells cells, Cell type, bool reclaim) {
  LOCK4args args;
  args.locktype = type == Cell::write ? nfs_lock_type4::WRITE_LT : nfs_lock_type4::READ_LT;
  args.reclaim = reclaim;
  if (world_.plant == Plant::late_reclaim && world_.oracle.grace_over()) args.reclaim = false;
  args.offset = cells.first;
  // Ranges that no two clients share.
  if (world_.plant == Plant::ignored_locks) args.offset += (1U + traits_.index) << 16;
  args.length = cells.count;
  // One lock owner per open, so that none comes back.
  // Half of the names tell whose they are; the others are the same for all clients.
  std::string name = owner_name(claim.owner, true) + fmt::format(".{}", lock_owners_made_);
  if (lock_owners_made_ % 2 == 0) name += fmt::format("@{}", traits_.index);
  if (claim.lock_id) {
    args.locker = locker4::with_lock_owner({*claim.lock_id, claim.lock_seqid});
  } else {
    ++lock_owners_made_;
    args.locker = locker4::with_open_owner({.open_seqid = traits_.minor_version > 0 ? 0 : seqid(claim.owner),
                                            .open_stateid = claim.open_id,
                                            .lock_seqid = 0,
                                            .lock_owner = {.clientid = id_, .owner = base::bytes_of(name)}});
  }
  Request out = at_file(claim.file);
  out.add(nfs_opnum4::OP_LOCK, args);
  return out;
}

bool Client::counts(nfsstat4 status) {
  switch (status) {
    case NFS4ERR_STALE_CLIENTID:
    case NFS4ERR_STALE_STATEID:
    case NFS4ERR_BAD_STATEID:
    case NFS4ERR_BAD_SEQID:
    case NFS4ERR_BADXDR:
    case NFS4ERR_RESOURCE:
    case NFS4ERR_NOFILEHANDLE:
      return false;
    default:
      return true;
  }
}

void Client::count_seqid(std::uint32_t owner, nfsstat4 status) {
  if (traits_.minor_version == 0 && counts(status)) ++owner_seqids_.at(owner);
}

bool Client::still_ours(const Outcome& outcome, nfsstat4 status, std::uint32_t owner, std::uint32_t file) {
  if (outcome.lost || outcome.instance != instance_) return false;
  switch (status) {
    case NFS4ERR_STALE_CLIENTID:
    case NFS4ERR_STALE_STATEID:
    case NFS4ERR_EXPIRED:
      if (traits_.minor_version == 0) {
        disowned(outcome, status);
        return false;
      }
      [[fallthrough]];
    case NFS4ERR_BAD_STATEID:
    case NFS4ERR_ADMIN_REVOKED:
      if (const Claim* const claim = world_.oracle.find(traits_.index, owner, file))
        world_.oracle.lost(*claim, outcome.life, status);
      return false;
    case NFS4ERR_OLD_STATEID:
    case NFS4ERR_BAD_SEQID:
      world_.oracle.violation("owner_sequence", traits_.index, file,
                              fmt::format("{} for the latest one", name_of(status)));
      return false;
    default:
      return true;
  }
}

}  // namespace braid::sim
