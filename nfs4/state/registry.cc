#include "nfs4/state/registry.h"

#include "base/assert.h"
#include "nfs4/state/locks/lock_state.h"
#include "nfs4/state/opens/open_state.h"

namespace braid::nfs4::state {

const FileLocks& FileState::locking() const {
  static const FileLocks none;
  return locking_ == nullptr ? none : *locking_;
}

FileLocks& FileState::locking() {
  if (locking_ == nullptr) locking_ = std::make_unique<FileLocks>();
  return *locking_;
}

ClientStates::ClientStates(ClientRef whose, PeerStates& of) : client(std::move(whose)), peer(of) {}
ClientStates::~ClientStates() = default;

StateRegistry::StateRegistry(std::uint32_t epoch, const StateLimits& limits)
    : limits_(limits), ids_(epoch, limits.states_max) {}

StateRegistry::~StateRegistry() = default;

void StateRegistry::add(Kind& kind) {
  Kind*& place = by_number_.at(static_cast<std::size_t>(kind.traits.kind));
  base::check(place == nullptr, "each kind of state is added once");
  place = &kind;
  kinds_.push_back(&kind);
  kind.added_to(*this);
}

ClientStates& StateRegistry::states_of(const ClientRef& client) {
  std::unique_ptr<ClientStates>& states = clients_[client->id];
  if (states) return *states;
  PeerStates& peer = peers_[peer_of(client->intro.address)];
  ++peer.clients;
  states = std::make_unique<ClientStates>(client, peer);
  return *states;
}

void StateRegistry::erase_client(clientid4 client) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  const auto peer = peers_.find(peer_of(found->second->client->intro.address));
  clients_.erase(found);
  if (--peer->second.clients == 0) peers_.erase(peer);
}

const PeerStates* StateRegistry::find_peer(const Client& client) const {
  const auto found = peers_.find(peer_of(client.intro.address));
  return found == peers_.end() ? nullptr : &found->second;
}

bool StateRegistry::room_for_owner(const PeerStates* peer, std::size_t owned) const {
  return owned < limits_.owners_per_client && owners_ < limits_.owners_max &&
         (peer == nullptr || !over_share(peer->owners, owners_, limits_.owners_max));
}

bool StateRegistry::room_for_state(const PeerStates* peer, std::size_t count) const {
  return count < limits_.states_per_client && !ids_.full() &&
         (peer == nullptr || !over_share(peer->states, ids_.size(), limits_.states_max));
}

bool StateRegistry::room_for_ranges(const ClientStates& states, std::size_t more) const {
  return states.lock_ranges + more <= limits_.lock_ranges_per_client &&
         lock_ranges_ + more <= limits_.lock_ranges_max &&
         !over_share(states.peer.lock_ranges, lock_ranges_, limits_.lock_ranges_max);
}

void StateRegistry::note_ranges(ClientStates& states, std::size_t before, std::size_t now) {
  for (std::size_t* const count : {&states.lock_ranges, &states.peer.lock_ranges, &lock_ranges_})
    *count += now - before;
}

ClientStates* StateRegistry::find_client(clientid4 client) const {
  const auto found = clients_.find(client);
  return found == clients_.end() ? nullptr : found->second.get();
}

std::size_t FileTable::part_of(const HashedHandle& handle) {
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;  // the parts have tables that use the lower bits
  constexpr unsigned shift = 64 - 10;
  static_assert(parts == std::size_t{1} << (64 - shift));
  return (handle.hash * golden) >> shift;
}

FileState* FileTable::find(const vfs::FileHandle& handle) const {
  const HashedHandle hashed(handle);
  const Part& part = parts_[part_of(hashed)];
  const auto found = part.find(hashed);
  return found == part.end() ? nullptr : found->get();
}

FileState& FileTable::add(const vfs::FileHandle& handle, StepCounter& steps) {
  Part& part = parts_[part_of(HashedHandle(handle))];
  auto file = std::make_unique<FileState>();
  file->handle = handle;
  const std::size_t before = part.bucket_count();
  FileState& added = **part.insert(std::move(file)).first;
  if (part.bucket_count() != before) steps.add(part.size());
  return added;
}

void FileTable::erase(const FileState& file) {
  const HashedHandle hashed(file.handle);
  Part& part = parts_[part_of(hashed)];
  part.erase(part.find(hashed));
}

FileState& StateRegistry::file_of(const vfs::FileHandle& handle) {
  FileState* const known = files_.find(handle);
  return known != nullptr ? *known : files_.add(handle, steps_);
}

FileState* StateRegistry::find_file(const vfs::FileHandle& handle) const { return files_.find(handle); }

void StateRegistry::forget_if_unused(const vfs::FileHandle& handle) {
  const FileState* const file = files_.find(handle);
  if (file != nullptr && file->unused()) files_.erase(*file);
}

void StateRegistry::forget_if_unused(clientid4 client) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  const ClientStates& states = *found->second;
  if (states.count == 0 && states.open_owners.empty() && states.lock_owners.empty()) erase_client(client);
}

void StateRegistry::link(StateLists& lists, State& state) {
  State*& first = lists.at(static_cast<std::size_t>(state.kind));
  state.previous = nullptr;
  state.next = std::exchange(first, &state);
  if (state.next != nullptr) state.next->previous = &state;
}

void StateRegistry::unlink(ClientStates& states, State& state) {
  const auto kind = static_cast<std::size_t>(state.kind);
  if (state.previous != nullptr)
    state.previous->next = state.next;
  else
    (states.doomed.at(kind) == &state ? states.doomed : states.states).at(kind) = state.next;
  if (state.next != nullptr) state.next->previous = state.previous;
}

void StateRegistry::release(State& state) {
  ClientStates& states = *find_client(state.client->id);
  unlink(states, state);
  link(states.states, state);
}

bool StateRegistry::more_than_its_share(clientid4 client, StateKind kind) const {
  const ClientStates* states = find_client(client);
  return states != nullptr &&
         std::uint64_t{states->counts.of(kind)} * (clients_.size() + 1) > counts_.of(kind);
}

void StateRegistry::note_made(ClientStates& states, State& state) {
  link(states.states, state);
  ++states.count;
  ++states.peer.states;
  ++states.counts.of(state.kind);
  ++counts_.of(state.kind);
}

void StateRegistry::erase(State& state, DeferredWork& work) {
  ClientStates* states = find_client(state.client->id);
  base::check(states != nullptr, "whoever has a state is known");
  unlink(*states, state);
  --states->count;
  --states->peer.states;
  --states->counts.of(state.kind);
  --counts_.of(state.kind);
  work.gone.push_back(ids_.erase(state));
}

base::Result<State*, nfsstat4> StateRegistry::find(const StateUse& use) const {
  if (special_of(use.id, use.minor_version) != SpecialStateId::none)
    return base::fail(nfsstat4::NFS4ERR_BAD_STATEID);
  const auto found = ids_.find(use.id, use.minor_version);
  if (!found) return found;
  State& state = **found;
  // RFC 8881 8.2.4: a stateid belongs to the client of the session it is used in.
  if (use.client != nullptr ? state.client != use.client : state.client->minor_version() != 0)
    return base::fail(nfsstat4::NFS4ERR_BAD_STATEID);
  // It is released when the client's record is off the disk.
  if (state.client->gone()) return base::fail(nfsstat4::NFS4ERR_EXPIRED);
  if (state.revoked) return base::fail(kind_of(state).traits.when_revoked);
  if (auto current = StateIdTable::check_seqid(state, use.id.seqid, use.minor_version); !current)
    return base::fail(current.error());
  // RFC 7530 9.5: whoever uses a stateid renews the lease that it belongs to.
  if (use.minor_version == 0 && !state.client->renew_40(use.now)) return base::fail(nfsstat4::NFS4ERR_DELAY);
  return &state;
}

std::uint32_t& StateRegistry::revoked_of(ClientStates& states, std::uint32_t sequence_flag) {
  return sequence_flag == SEQ4_STATUS_RECALLABLE_STATE_REVOKED ? states.recallable_revoked
                                                               : states.admin_revoked;
}

void StateRegistry::note_revoked(State& state) {
  const std::uint32_t flag = kind_of(state).traits.sequence_flag;
  state.revoked = true;
  ++revoked_of(*find_client(state.client->id), flag);
  state.client->raise_status(flag);
}

void StateRegistry::note_freed(const State& state) {
  const std::uint32_t flag = kind_of(state).traits.sequence_flag;
  if (--revoked_of(*find_client(state.client->id), flag) == 0) state.client->lower_status(flag);
}

}  // namespace braid::nfs4::state
