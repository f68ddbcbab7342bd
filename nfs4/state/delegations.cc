// Delegations on FileStates (RFC 8881 10.2 to 10.4).
#include <algorithm>
#include <utility>

#include "nfs4/state/file_states.h"
#include "nfs4/state/records.h"

namespace braid::nfs4::state {

std::optional<open_delegation_type4> FileStates::offer(const OpenState& open, DelegationWish wish,
                                                       base::TimePoint now) const {
  if (wish == DelegationWish::none || !open.owner->confirmed) return std::nullopt;
  const FileState& file = *open.file;
  if (now < file.contended_until) return std::nullopt;
  if (find_client(open.client->id)->delegations >= limits_.delegations_per_client) return std::nullopt;
  const bool writes = (open.share.access & share_write) != 0;
  if (writes && wish == DelegationWish::read) return std::nullopt;
  for (const DelegationState* other : file.delegations)
    if (writes || other->write || other->client == open.client) return std::nullopt;
  for (const OpenState* other : file.opens) {
    if (other == &open) continue;
    // A write delegation is for the only client; a read delegation for those who all only read.
    if (writes ? other->client != open.client : (other->share.access & share_write) != 0) return std::nullopt;
  }
  return writes ? open_delegation_type4::OPEN_DELEGATE_WRITE : open_delegation_type4::OPEN_DELEGATE_READ;
}

std::optional<stateid4> FileStates::delegate(const OpenAnswer& answer, open_delegation_type4 type,
                                             vfs::LeaseRef& lease, base::TimePoint now) {
  const auto found = table_.find(answer.id, 1);
  if (!found || (*found)->kind != StateKind::open) return std::nullopt;
  const auto& open = static_cast<const OpenState&>(**found);
  if (open.file == nullptr || open.client->gone()) return std::nullopt;
  if (offer(open, DelegationWish::any, now) != type) return std::nullopt;
  ClientStates& states = *find_client(open.client->id);
  const bool writes = type == open_delegation_type4::OPEN_DELEGATE_WRITE;
  auto* delegation = make<DelegationState>(states, *open.file, writes);
  if (delegation == nullptr) return std::nullopt;
  delegation->descriptor = open.descriptors.get(writes ? share_write : share_read);
  delegation->lease = std::move(lease);
  open.file->delegations.push_back(delegation);
  ++states.delegations;
  return delegation->id();
}

void FileStates::recall(DelegationState& delegation, base::TimePoint now, Aftermath& after) {
  if (delegation.phase == DelegationPhase::recalled) return;
  delegation.phase = DelegationPhase::recalled;
  delegation.recalled = now;
  delegation.file->contended_until = now + limits_.contention;
  recalled_.push_back(&delegation);
  after.recalls.push_back({delegation.client, delegation.id(), delegation.file->handle});
}

bool FileStates::recall_conflicting(FileState& file, const Client* by, bool write, base::TimePoint now,
                                    std::vector<ClientRef>& blockers, Aftermath& after) {
  for (DelegationState* delegation : file.delegations) {
    if (delegation->client.get() == by || (!write && !delegation->write)) continue;
    blockers.push_back(delegation->client);
    recall(*delegation, now, after);
  }
  return !blockers.empty();
}

base::Result<void, Refusal> FileStates::break_delegations(const vfs::FileHandle& handle, const Client* by,
                                                          bool write, base::TimePoint now, Aftermath& after) {
  FileState* file = find_file(handle);
  if (file == nullptr) return {};
  Refusal refusal{nfsstat4::NFS4ERR_DELAY, {}};
  if (recall_conflicting(*file, by, write, now, refusal.blockers, after))
    return base::Failure<Refusal>{std::move(refusal)};
  return {};
}

void FileStates::recall(const stateid4& id, base::TimePoint now, Aftermath& after) {
  const auto found = table_.find(id, 1);
  if (!found || (*found)->kind != StateKind::delegation) return;
  auto& delegation = static_cast<DelegationState&>(**found);
  if (delegation.file != nullptr) recall(delegation, now, after);
}

void FileStates::revoke(DelegationState& delegation, Aftermath& after) {
  if (delegation.client->minor_version() == 0) {
    end(delegation, after);
    return;
  }
  detach(delegation, after);
  delegation.revoked = true;
  ++find_client(delegation.client->id)->revoked;
  delegation.client->raise_status(SEQ4_STATUS_RECALLABLE_STATE_REVOKED);
}

std::size_t FileStates::revoke_unreturned(base::TimePoint before, Aftermath& after) {
  std::size_t revoked = 0;
  while (!recalled_.empty() && recalled_.front()->recalled <= before) {
    revoke(*recalled_.front(), after);
    ++revoked;
  }
  return revoked;
}

base::Result<void, nfsstat4> FileStates::return_delegation(const StateUse& use, Aftermath& after) {
  const auto delegation = find_delegation(use);
  if (!delegation) return base::fail(delegation.error());
  end(**delegation, after);
  return {};
}

base::Result<void, nfsstat4> FileStates::check_delegation(const StateUse& use) const {
  const auto delegation = find_delegation(use);
  if (!delegation) return base::fail(delegation.error());
  return {};
}

vfs::OpenFileRef FileStates::delegated(const Client& client, const vfs::FileHandle& handle,
                                       std::uint8_t access) const {
  const FileState* file = find_file(handle);
  if (file == nullptr) return nullptr;
  for (const DelegationState* delegation : file->delegations) {
    if (delegation->client.get() != &client || delegation->descriptor == nullptr) continue;
    if ((static_cast<std::uint8_t>(delegation->descriptor->access()) & access) == access)
      return delegation->descriptor;
  }
  return nullptr;
}

}  // namespace braid::nfs4::state
