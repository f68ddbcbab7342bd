// Delegations on FileStates (RFC 8881 10.2 to 10.4, 10.9).
#include <algorithm>
#include <utility>

#include "nfs4/state/file_states.h"
#include "nfs4/state/records.h"

namespace braid::nfs4::state {

bool FileStates::delegations_left(const Client& client) const {
  if (table_.size() > limits_.states_max / 4 * 3 || delegation_stats_.held() >= limits_.delegations_max)
    return false;
  const ClientStates* states = find_client(client.id);
  return states == nullptr || states->delegations < limits_.delegations_per_client;
}

std::uint32_t& FileStates::held_like(const DelegationState& delegation) {
  if (delegation.directory) return delegation_stats_.directories;
  return delegation.write ? delegation_stats_.writing : delegation_stats_.reading;
}

void FileStates::note_granted(DelegationState& delegation, FileState& file) {
  file.delegations.push_back(&delegation);
  ++find_client(delegation.client->id)->delegations;
  ++held_like(delegation);
  ++delegation_stats_.granted;
}

// What opens and delegations of others allow.
base::Result<void, why_no_delegation4> FileStates::admit_delegation(const OpenState& open,
                                                                    bool writes) const {
  using enum why_no_delegation4;
  if (!delegations_left(*open.client)) return base::fail(WND4_RESOURCE);
  // Without a descriptor for reading too its holder could not do all that it may.
  if (writes && open.descriptors.get(share_both) == nullptr) return base::fail(WND4_RESOURCE);
  for (const DelegationState* other : open.file->delegations)
    if (writes || other->write || other->client == open.client) return base::fail(WND4_CONTENTION);
  for (const OpenState* other : open.file->opens) {
    if (other == &open) continue;
    // A write delegation is for the only client; a read delegation for those who all only read.
    const bool conflicts = writes ? other->client != open.client : (other->share.access & share_write) != 0;
    if (conflicts) return base::fail(WND4_CONTENTION);
  }
  return {};
}

base::Result<open_delegation_type4, why_no_delegation4> FileStates::offer(const OpenState& open,
                                                                          DelegationWish wish,
                                                                          base::TimePoint now) const {
  using enum why_no_delegation4;
  if (wish == DelegationWish::none) return base::fail(WND4_NOT_WANTED);
  if (!open.owner->confirmed) return base::fail(WND4_RESOURCE);
  const bool writes = (open.share.access & share_write) != 0;
  if (writes && wish == DelegationWish::read) return base::fail(WND4_NOT_WANTED);
  if (contention_.lasts(HandleHash{}(open.file->handle), now)) return base::fail(WND4_CONTENTION);
  if (auto admitted = admit_delegation(open, writes); !admitted) return base::fail(admitted.error());
  return writes ? open_delegation_type4::OPEN_DELEGATE_WRITE : open_delegation_type4::OPEN_DELEGATE_READ;
}

std::optional<stateid4> FileStates::delegate(const OpenAnswer& answer, DelegationRequest& request) {
  const auto found = table_.find(answer.id, 1);
  if (!found || (*found)->kind != StateKind::open) return std::nullopt;
  const auto& open = static_cast<const OpenState&>(**found);
  if (open.file == nullptr || open.client->gone()) return std::nullopt;
  const bool writes = request.type == open_delegation_type4::OPEN_DELEGATE_WRITE;
  // What the client says that it held is its own, until others want it.
  if (!request.reclaim &&
      (contention_.lasts(HandleHash{}(open.file->handle), request.now) || !admit_delegation(open, writes)))
    return std::nullopt;
  ClientStates& states = *find_client(open.client->id);
  auto* delegation = make<DelegationState>(states, *open.file, writes);
  if (delegation == nullptr) return std::nullopt;
  delegation->made = request.now;
  delegation->opener = open.opener;
  delegation->descriptor = answer.descriptor;
  delegation->lease = std::move(request.lease);
  delegation->timestamps = request.timestamps;
  delegation->change = request.change;
  note_granted(*delegation, *open.file);
  if (request.recalled) note_recall(*delegation, request.now);
  return delegation->id();
}

bool FileStates::admits_directory(const Client& client, const vfs::FileHandle& directory,
                                  base::TimePoint now) const {
  if (client.gone() || !delegations_left(client) || contention_.lasts(HandleHash{}(directory), now))
    return false;
  const FileState* file = find_file(directory);
  return file == nullptr || std::ranges::none_of(file->delegations, [&](const DelegationState* one) {
           return one->client.get() == &client;
         });
}

std::optional<stateid4> FileStates::delegate(DirectoryDelegationRequest& request) {
  if (!admits_directory(*request.client, request.directory, request.now)) return std::nullopt;
  FileState& file = file_of(request.directory);
  auto* delegation = make<DelegationState>(states_of(request.client), file, false);
  if (delegation == nullptr) {
    forget_if_unused(request.directory);
    forget_if_unused(request.client->id);
    return std::nullopt;
  }
  delegation->made = request.now;
  delegation->directory = true;
  delegation->lease = std::move(request.lease);
  note_granted(*delegation, file);
  return delegation->id();
}

bool FileStates::delegated_to_others(const vfs::FileHandle& handle, const Client* by) const {
  const FileState* file = find_file(handle);
  return file != nullptr && std::ranges::any_of(file->delegations, [&](const DelegationState* one) {
           return one->client.get() != by;
         });
}

void FileStates::note_recall(DelegationState& delegation, base::TimePoint now) {
  delegation.phase = DelegationPhase::recalled;
  delegation.recalled = now;
  ++delegation_stats_.recalled;
  contention_.note(HandleHash{}(delegation.file->handle), now + limits_.contention);
  recalled_.push_back(&delegation);
}

void FileStates::recall(DelegationState& delegation, base::TimePoint now, Aftermath& after) {
  if (delegation.phase == DelegationPhase::recalled) return;
  note_recall(delegation, now);
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

void FileStates::recall_all(const vfs::FileHandle& handle, base::TimePoint now, Aftermath& after) {
  const FileState* file = find_file(handle);
  if (file == nullptr) return;
  for (DelegationState* delegation : file->delegations) recall(*delegation, now, after);
}

void FileStates::give_up_own(const vfs::FileHandle& handle, const Client& client, base::TimePoint now,
                             Aftermath& after) {
  const FileState* file = find_file(handle);
  if (file == nullptr) return;
  for (DelegationState* delegation : file->delegations) {
    if (delegation->client.get() != &client) continue;
    recall(*delegation, now, after);
    if (delegation->lease != nullptr) after.leases.push_back(std::move(delegation->lease));
  }
}

void FileStates::end_leases(Aftermath& after) {
  for (const auto& [handle, file] : files_)
    for (DelegationState* delegation : file->delegations)
      if (delegation->lease != nullptr) after.leases.push_back(std::move(delegation->lease));
}

std::optional<WriteHolder> FileStates::write_holder(const vfs::FileHandle& handle, const Client* by) const {
  const FileState* file = find_file(handle);
  if (file == nullptr) return std::nullopt;
  for (const DelegationState* one : file->delegations) {
    if (!one->write || one->client.get() == by) continue;
    return WriteHolder{.client = one->client,
                       .id = one->id(),
                       .timestamps = one->timestamps,
                       .recalled = one->phase == DelegationPhase::recalled,
                       .change = one->change};
  }
  return std::nullopt;
}

bool FileStates::delegations_at_rest() const {
  return delegation_stats_.reading + delegation_stats_.writing > 0 && recalled_.empty();
}

std::vector<Surplus> FileStates::surplus(base::TimePoint now) {
  std::vector<Surplus> out;
  const auto scarce = [](std::uint64_t used, std::uint64_t limit) { return 4 * used > 3 * limit; };
  if (now < next_surplus_) return out;
  std::uint32_t holders = 0;
  for (const auto& [id, states] : clients_) holders += states->delegations > 0 ? 1U : 0U;
  if (holders == 0) return out;
  const std::uint32_t fair = scarce(delegation_stats_.held(), limits_.delegations_max)
                                 ? limits_.delegations_max / 2 / holders
                                 : limits_.delegations_max;
  for (const auto& [id, states] : clients_) {
    // 4.0 has no CB_RECALL_ANY.
    if (states->client->minor_version() == 0) continue;
    const bool greedy = scarce(states->delegations, limits_.delegations_per_client);
    const std::uint32_t keep = greedy ? std::min(fair, limits_.delegations_per_client / 2) : fair;
    if (states->delegations > keep) out.push_back({states->client, keep});
  }
  if (!out.empty()) next_surplus_ = now + surplus_pause;
  return out;
}

void FileStates::revoke(DelegationState& delegation, Aftermath& after) {
  ++delegation_stats_.revoked;
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

base::Result<IoGrant, nfsstat4> FileStates::check_timestamps(const StateUse& use, std::uint8_t access) const {
  const auto found = find_delegation(use);
  if (!found) return base::fail(found.error());
  const DelegationState& delegation = **found;
  if (!delegation.timestamps) return base::fail(nfsstat4::NFS4ERR_INVAL);
  if (!delegation.write && (access & share_write) != 0) return base::fail(nfsstat4::NFS4ERR_OPENMODE);
  return IoGrant{nullptr, delegation.client, delegation.opener != use.caller};
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
