#include "nfs4/state/delegations/delegations.h"

#include <algorithm>
#include <utility>

namespace braid::nfs4::state {

namespace {

// Reading in spite of a read delegation is what it is for; anything else changes the file, or keeps its
// holder from reading.
bool needs_all_back(const Share& share) {
  return (share.access & share_write) != 0 || (share.deny & share_read) != 0;
}

}  // namespace

Delegations::Delegations(StateRegistry& registry)
    : Kind({.kind = StateKind::delegation,
            .name = "delegation",
            .when_revoked = nfsstat4::NFS4ERR_DELEG_REVOKED,
            .sequence_flag = SEQ4_STATUS_RECALLABLE_STATE_REVOKED}),
      registry_(registry) {}

bool Delegations::left_for(const Client& client) const {
  if (registry_.size() > registry_.limits().states_max / 4 * 3 ||
      stats_.held() >= registry_.limits().delegations_max)
    return false;
  const ClientStates* states = registry_.find_client(client.id);
  if (states != nullptr && states->delegations >= registry_.limits().delegations_per_client) return false;
  // An address may have as many as are left for others.
  const PeerStates* const peer = registry_.find_peer(client);
  return peer == nullptr || peer->delegations < always_of_peer ||
         peer->delegations < registry_.limits().delegations_max - stats_.held();
}

std::uint32_t& Delegations::held_like(const DelegationState& delegation) {
  if (delegation.directory) return stats_.directories;
  return delegation.write ? stats_.writing : stats_.reading;
}

void Delegations::note_granted(DelegationState& delegation, FileState& file) {
  file.delegations.push_back(&delegation);
  ClientStates& states = *registry_.find_client(delegation.client->id);
  ++states.delegations;
  ++states.peer.delegations;
  ++held_like(delegation);
  ++stats_.granted;
}

// What opens and delegations of others allow.
base::Result<void, why_no_delegation4> Delegations::admit(const OpenState& open, bool writes) const {
  using enum why_no_delegation4;
  if (!left_for(*open.client)) return base::fail(WND4_RESOURCE);
  // Without a descriptor for reading too its holder could not do all that it may.
  if (writes && open.descriptors.get(share_both) == nullptr) return base::fail(WND4_RESOURCE);
  for (const DelegationState* other : open.file->delegations)
    if (writes || other->write || other->client == open.client) return base::fail(WND4_CONTENTION);
  // A write delegation is for the only client; a read delegation for those who all only read.
  const OpensOfFile& opens = open.file->opens;
  const auto of_another = [&](const OpenState* other) { return other->client != open.client; };
  const std::uint32_t own = (open.share.access & share_write) != 0 ? 1 : 0;
  const bool conflicts = writes ? std::ranges::any_of(opens, of_another) : opens.shares().writing() > own;
  if (conflicts) return base::fail(WND4_CONTENTION);
  return {};
}

base::Result<open_delegation_type4, why_no_delegation4> Delegations::type_for(const OpenState& open,
                                                                              DelegationWish wish,
                                                                              base::TimePoint now) const {
  using enum why_no_delegation4;
  if (wish == DelegationWish::none) return base::fail(WND4_NOT_WANTED);
  if (!open.owner->confirmed) return base::fail(WND4_RESOURCE);
  const bool writes = (open.share.access & share_write) != 0;
  if (writes && wish == DelegationWish::read) return base::fail(WND4_NOT_WANTED);
  if (contention_.lasts(FileHandleHash{}(open.file->handle), now)) return base::fail(WND4_CONTENTION);
  if (auto admitted = admit(open, writes); !admitted) return base::fail(admitted.error());
  return writes ? open_delegation_type4::OPEN_DELEGATE_WRITE : open_delegation_type4::OPEN_DELEGATE_READ;
}

void Delegations::offer(const OpenState& open, const OpenRequest& request, OpenAnswer& answer) const {
  if (request.reclaim) {
    answer.descriptor = open.descriptors.get(request.share.access);
  } else if (const auto type = type_for(open, request.wish, request.now)) {
    answer.delegation = *type;
    const bool writes = *type == open_delegation_type4::OPEN_DELEGATE_WRITE;
    answer.descriptor = open.descriptors.get(writes ? share_both : share_read);
  } else {
    answer.no_delegation = type.error();
  }
}

std::optional<stateid4> Delegations::give(const OpenAnswer& answer, DelegationRequest& request) {
  const auto found = registry_.ids().find(answer.id, 1);
  if (!found || (*found)->kind != StateKind::open) return std::nullopt;
  const auto& open = static_cast<const OpenState&>(**found);
  if (open.file == nullptr || open.client->gone()) return std::nullopt;
  const bool writes = request.type == open_delegation_type4::OPEN_DELEGATE_WRITE;
  // What the client says that it held is its own, until others want it.
  if (!request.reclaim &&
      (contention_.lasts(FileHandleHash{}(open.file->handle), request.now) || !admit(open, writes)))
    return std::nullopt;
  ClientStates& states = *registry_.find_client(open.client->id);
  auto* delegation = registry_.make<DelegationState>(states, *open.file, writes);
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

bool Delegations::admits_directory(const Client& client, const vfs::FileHandle& directory,
                                   base::TimePoint now) const {
  if (client.gone() || !left_for(client) || contention_.lasts(FileHandleHash{}(directory), now)) return false;
  const FileState* file = registry_.find_file(directory);
  return file == nullptr || std::ranges::none_of(file->delegations, [&](const DelegationState* one) {
           return one->client.get() == &client;
         });
}

std::optional<stateid4> Delegations::give(DirectoryDelegationRequest& request) {
  if (!admits_directory(*request.client, request.directory, request.now)) return std::nullopt;
  FileState& file = registry_.file_of(request.directory);
  auto* delegation = registry_.make<DelegationState>(registry_.states_of(request.client), file, false);
  if (delegation == nullptr) {
    registry_.forget_if_unused(request.directory);
    registry_.forget_if_unused(request.client->id);
    return std::nullopt;
  }
  delegation->made = request.now;
  delegation->directory = true;
  delegation->lease = std::move(request.lease);
  note_granted(*delegation, file);
  return delegation->id();
}

bool Delegations::held_by_others(const vfs::FileHandle& handle, const Client* by) const {
  const FileState* file = registry_.find_file(handle);
  return file != nullptr && std::ranges::any_of(file->delegations, [&](const DelegationState* one) {
           return one->client.get() != by;
         });
}

bool Delegations::in_the_way(FileState& file, const OpenRequest& request, std::vector<ClientRef>& blockers,
                             DeferredWork& work) {
  return recall_conflicting(file, request.client.get(), needs_all_back(request.needed()), request.now,
                            blockers, work);
}

void Delegations::note_recall(DelegationState& delegation, base::TimePoint now) {
  delegation.phase = DelegationPhase::recalled;
  delegation.recalled = now;
  ++stats_.recalled;
  contention_.note(FileHandleHash{}(delegation.file->handle), now + registry_.limits().contention);
  recalled_.push_back(&delegation);
}

void Delegations::recall(DelegationState& delegation, base::TimePoint now, DeferredWork& work) {
  if (delegation.phase == DelegationPhase::recalled) return;
  note_recall(delegation, now);
  work.recalls.push_back({delegation.client, delegation.id(), delegation.file->handle});
}

bool Delegations::recall_conflicting(FileState& file, const Client* by, bool write, base::TimePoint now,
                                     std::vector<ClientRef>& blockers, DeferredWork& work) {
  bool waits = false;
  for (DelegationState* delegation : file.delegations) {
    if (delegation->client.get() == by || (!write && !delegation->write)) continue;
    blockers.push_back(delegation->client);
    recall(*delegation, now, work);
    waits = true;
  }
  return waits;
}

base::Result<void, Refusal> Delegations::break_for(const vfs::FileHandle& handle, const Client* by,
                                                   bool write, base::TimePoint now, DeferredWork& work) {
  FileState* file = registry_.find_file(handle);
  if (file == nullptr) return {};
  Refusal refusal{nfsstat4::NFS4ERR_DELAY, {}};
  if (recall_conflicting(*file, by, write, now, refusal.blockers, work))
    return base::Failure<Refusal>{std::move(refusal)};
  return {};
}

void Delegations::recall_all(const vfs::FileHandle& handle, base::TimePoint now, DeferredWork& work) {
  const FileState* file = registry_.find_file(handle);
  if (file == nullptr) return;
  for (DelegationState* delegation : file->delegations) recall(*delegation, now, work);
}

void Delegations::give_up_own(const vfs::FileHandle& handle, const Client& client, base::TimePoint now,
                              DeferredWork& work) {
  const FileState* file = registry_.find_file(handle);
  if (file == nullptr) return;
  for (DelegationState* delegation : file->delegations) {
    if (delegation->client.get() != &client) continue;
    recall(*delegation, now, work);
    if (delegation->lease != nullptr) work.leases.push_back(std::move(delegation->lease));
  }
}

void Delegations::end_leases(DeferredWork& work) {
  registry_.files().for_each([&](const FileState& file) {
    for (DelegationState* delegation : file.delegations)
      if (delegation->lease != nullptr) work.leases.push_back(std::move(delegation->lease));
  });
}

std::optional<WriteHolder> Delegations::write_holder(const vfs::FileHandle& handle, const Client* by) const {
  if (stats_.writing == 0) return std::nullopt;
  const FileState* file = registry_.find_file(handle);
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

bool Delegations::at_rest() const { return stats_.reading + stats_.writing > 0 && recalled_.empty(); }

std::vector<Surplus> Delegations::surplus(base::TimePoint now) {
  std::vector<Surplus> out;
  const auto scarce = [](std::uint64_t used, std::uint64_t limit) { return 4 * used > 3 * limit; };
  if (now < next_surplus_) return out;
  std::uint32_t holders = 0;
  for (const auto& [id, states] : registry_.clients()) holders += states->delegations > 0 ? 1U : 0U;
  if (holders == 0) return out;
  const std::uint32_t fair = scarce(stats_.held(), registry_.limits().delegations_max)
                                 ? registry_.limits().delegations_max / 2 / holders
                                 : registry_.limits().delegations_max;
  for (const auto& [id, states] : registry_.clients()) {
    // 4.0 has no CB_RECALL_ANY.
    if (states->client->minor_version() == 0) continue;
    const bool greedy = scarce(states->delegations, registry_.limits().delegations_per_client);
    const std::uint32_t keep = greedy ? std::min(fair, registry_.limits().delegations_per_client / 2) : fair;
    if (states->delegations > keep) out.push_back({states->client, keep});
  }
  if (!out.empty()) next_surplus_ = now + surplus_pause;
  return out;
}

void Delegations::revoke(State& state, DeferredWork& work) {
  auto& delegation = static_cast<DelegationState&>(state);
  ++stats_.revoked;
  if (delegation.client->minor_version() == 0) {
    end(delegation, work);
    return;
  }
  detach(delegation, work);
  registry_.note_revoked(delegation);
}

std::size_t Delegations::revoke_unreturned(base::TimePoint before, DeferredWork& work) {
  std::size_t revoked = 0;
  while (!recalled_.empty() && recalled_.front()->recalled <= before && revoked < revoked_at_once) {
    revoke(*recalled_.front(), work);
    ++revoked;
  }
  return revoked;
}

base::Result<void, nfsstat4> Delegations::give_back(const StateUse& use, DeferredWork& work) {
  const auto delegation = registry_.find<DelegationState>(use);
  if (!delegation) return base::fail(delegation.error());
  end(**delegation, work);
  return {};
}

base::Result<void, nfsstat4> Delegations::check(const StateUse& use) const {
  const auto delegation = registry_.find<DelegationState>(use);
  if (!delegation) return base::fail(delegation.error());
  return {};
}

base::Result<IoGrant, nfsstat4> Delegations::check_timestamps(const StateUse& use,
                                                              std::uint8_t access) const {
  const auto found = registry_.find<DelegationState>(use);
  if (!found) return base::fail(found.error());
  const DelegationState& delegation = **found;
  if (!delegation.timestamps) return base::fail(nfsstat4::NFS4ERR_INVAL);
  if (!delegation.write && (access & share_write) != 0) return base::fail(nfsstat4::NFS4ERR_OPENMODE);
  return IoGrant{nullptr, delegation.client, delegation.opener != use.caller};
}

vfs::OpenFileRef Delegations::descriptor_of(const Client& client, const vfs::FileHandle& handle,
                                            std::uint8_t access) const {
  const FileState* file = registry_.find_file(handle);
  if (file == nullptr) return nullptr;
  for (const DelegationState* delegation : file->delegations) {
    if (delegation->client.get() != &client || delegation->descriptor == nullptr) continue;
    if ((static_cast<std::uint8_t>(delegation->descriptor->access()) & access) == access)
      return delegation->descriptor;
  }
  return nullptr;
}

// Takes the delegation off its file.
void Delegations::detach(DelegationState& delegation, DeferredWork& work) {
  std::erase(recalled_, &delegation);
  --held_like(delegation);
  delegation.file->delegations.remove(&delegation);
  ClientStates& states = *registry_.find_client(delegation.client->id);
  --states.delegations;
  --states.peer.delegations;
  if (delegation.descriptor != nullptr) work.unused.push_back(std::move(delegation.descriptor));
  if (delegation.lease != nullptr) work.leases.push_back(std::move(delegation.lease));
  FileState& file = *std::exchange(delegation.file, nullptr);
  for (Kind* const kind : registry_.kinds()) kind->delegation_ends(file, *delegation.client, work);
  const vfs::FileHandle handle = file.handle;
  registry_.forget_if_unused(handle);
}

void Delegations::end(State& state, DeferredWork& work) {
  auto& delegation = static_cast<DelegationState&>(state);
  if (delegation.file != nullptr) detach(delegation, work);
  if (delegation.revoked) registry_.note_freed(delegation);
  registry_.erase(delegation, work);
}

bool Delegations::describe(const State& state, StateLine& line) const {
  const auto& delegation = static_cast<const DelegationState&>(state);
  if (delegation.file == nullptr) return false;
  line.file = delegation.file->handle;
  line.write = delegation.write;
  line.directory = delegation.directory;
  line.recalled = delegation.phase != DelegationPhase::granted;
  line.open = delegation.descriptor;
  if (delegation.directory && delegation.lease != nullptr) line.held = delegation.lease->file();
  return true;
}

void Delegations::tick(base::TimePoint lease_ago, base::TimePoint /*now*/, DeferredWork& work) {
  revoke_unreturned(lease_ago, work);
}

}  // namespace braid::nfs4::state
