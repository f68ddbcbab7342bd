// How states, owners and files of FileStates come and go.
#include "nfs4/state/records.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "nfs4/state/file_states.h"

namespace braid::nfs4::state {

vfs::OpenFileRef Descriptors::get(std::uint8_t access) const {
  for (const vfs::OpenFileRef& open : opens_)
    if ((static_cast<std::uint8_t>(open->access()) & access) == access) return open;
  return nullptr;
}

vfs::OpenFileRef Descriptors::any() const { return opens_.empty() ? nullptr : opens_.front(); }

void Descriptors::add(vfs::OpenFileRef open, std::vector<vfs::OpenFileRef>& unused) {
  if (open == nullptr) return;
  if (get(static_cast<std::uint8_t>(open->access())) != nullptr) {
    unused.push_back(std::move(open));
    return;
  }
  opens_.push_back(std::move(open));
}

void Descriptors::keep_only(std::uint8_t access, std::vector<vfs::OpenFileRef>& unused) {
  std::erase_if(opens_, [&](vfs::OpenFileRef& open) {
    if ((static_cast<std::uint8_t>(open->access()) & access) != 0) return false;
    unused.push_back(std::move(open));
    return true;
  });
}

FileStates::FileStates(std::uint32_t epoch, const StateLimits& limits)
    : limits_(limits), table_(epoch, limits.states_max) {}

FileStates::~FileStates() = default;

ClientStates& FileStates::states_of(const ClientRef& client) {
  std::unique_ptr<ClientStates>& states = clients_[client->id];
  if (!states) states = std::make_unique<ClientStates>(client);
  return *states;
}

ClientStates* FileStates::find_client(clientid4 client) const {
  const auto found = clients_.find(client);
  return found == clients_.end() ? nullptr : found->second.get();
}

FileState& FileStates::file_of(const vfs::FileHandle& handle) {
  std::unique_ptr<FileState>& file = files_[handle];
  if (!file) {
    file = std::make_unique<FileState>();
    file->handle = handle;
  }
  return *file;
}

FileState* FileStates::find_file(const vfs::FileHandle& handle) const {
  const auto found = files_.find(handle);
  return found == files_.end() ? nullptr : found->second.get();
}

void FileStates::erase(State& state, Aftermath& after) {
  ClientStates* states = find_client(state.client->id);
  base::check(states != nullptr, "whoever has a state is known");
  if (state.previous != nullptr)
    state.previous->next = state.next;
  else
    states->states = state.next;
  if (state.next != nullptr) state.next->previous = state.previous;
  --states->count;
  for (StateCounts* counts : {&states->counts, &counts_})
    if (std::uint32_t* kind = counts->of(state.kind); kind != nullptr) --*kind;
  after.gone.push_back(table_.erase(state));
}

// Takes the open off its file: it holds nothing any more, only its stateid remains.
void FileStates::detach(OpenState& open, Aftermath& after) {
  while (!open.locks.empty()) end(*open.locks.back(), after);
  open.descriptors.keep_only(0, after.unused);
  std::erase(open.file->opens, &open);
  --open.owner->opens;
  const vfs::FileHandle handle = open.file->handle;
  open.file = nullptr;
  forget_if_unused(handle);
}

void FileStates::end(OpenState& open, Aftermath& after) {
  if (open.revoked) {
    freed_revoked(open);
    erase(open, after);
    return;
  }
  if (open.file != nullptr) detach(open, after);
  OpenOwner& owner = *open.owner;
  ClientStates& states = *find_client(open.client->id);
  if (owner.latest == &open) owner.latest = nullptr;
  const bool sessions = open.client->minor_version() > 0;
  erase(open, after);
  if (sessions && owner.opens == 0) states.open_owners.erase(states.open_owners.find(owner.name));
}

// Takes the locks off their file, their owner and their open.
void FileStates::detach(LockState& lock, Aftermath& after) {
  ClientStates& states = *find_client(lock.client->id);
  LockOwner& owner = *std::exchange(lock.owner, nullptr);
  const OpenState& open = *lock.open;
  states.lock_ranges -= lock.ranges.size();
  if (!lock.ranges.empty()) {
    if (auto descriptor = open.descriptors.any(); descriptor != nullptr)
      after.released.push_back({std::move(descriptor), owner.id, {}});
  }
  std::erase(lock.file->locks, &lock);
  std::erase(owner.locks, &lock);
  std::erase(std::exchange(lock.open, nullptr)->locks, &lock);
  drop_if_unused(states, owner);
}

void FileStates::end(LockState& lock, Aftermath& after) {
  if (lock.revoked) {
    freed_revoked(lock);
    erase(lock, after);
    return;
  }
  FileState& file = *lock.file;
  std::optional<ByteRange> freed;
  if (!lock.ranges.empty()) {
    freed = lock.ranges.hull();
    file.queue.note_release(lock.client->id);
  }
  detach(lock, after);
  erase(lock, after);
  if (freed) tell_waiters(file, *freed, after);
}

// Takes the delegation off its file.
void FileStates::detach(DelegationState& delegation, Aftermath& after) {
  std::erase(recalled_, &delegation);
  --held_like(delegation);
  std::erase(delegation.file->delegations, &delegation);
  --find_client(delegation.client->id)->delegations;
  if (delegation.descriptor != nullptr) after.unused.push_back(std::move(delegation.descriptor));
  if (delegation.lease != nullptr) after.leases.push_back(std::move(delegation.lease));
  const vfs::FileHandle handle = delegation.file->handle;
  delegation.file = nullptr;
  forget_if_unused(handle);
}

void FileStates::end(DelegationState& delegation, Aftermath& after) {
  if (delegation.file != nullptr) detach(delegation, after);
  if (delegation.revoked) {
    ClientStates& states = *find_client(delegation.client->id);
    if (--states.revoked == 0) delegation.client->lower_status(SEQ4_STATUS_RECALLABLE_STATE_REVOKED);
  }
  erase(delegation, after);
}

// RFC 7530 9.1.7: the owner's next operation shows that it has the answer to its CLOSE.
void FileStates::drop_closed(OpenOwner& owner, Aftermath& after) {
  if (owner.latest == nullptr || !owner.latest->closed) return;
  OpenState& closed = *owner.latest;
  owner.latest = nullptr;
  erase(closed, after);
}

void FileStates::forget_if_unused(const vfs::FileHandle& handle) {
  const auto found = files_.find(handle);
  if (found == files_.end() || !found->second->unused()) return;
  queued_.erase(found->second.get());
  files_.erase(found);
}

void FileStates::forget_if_unused(clientid4 client) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  const ClientStates& states = *found->second;
  if (states.states == nullptr && states.open_owners.empty() && states.lock_owners.empty())
    clients_.erase(found);
}

void FileStates::drop_client(clientid4 client) {
  Aftermath& after = left_;
  table_.remember_expired(client);
  tidy_queues([&](LockQueue& queue) { queue.forget_client(client); }, after);
  ClientStates* states = find_client(client);
  if (states == nullptr) return;
  while (states->states != nullptr) {
    State& state = *states->states;
    switch (state.kind) {
      case StateKind::open:
        end(static_cast<OpenState&>(state), after);
        break;
      case StateKind::lock:
        end(static_cast<LockState&>(state), after);
        break;
      case StateKind::delegation:
        end(static_cast<DelegationState&>(state), after);
        break;
      case StateKind::layout:
      case StateKind::copy:
        erase(state, after);
        break;
    }
  }
  clients_.erase(client);
}

bool FileStates::holds_state(clientid4 client) const {
  const ClientStates* states = find_client(client);
  return states != nullptr && states->states != nullptr;
}

void FileStates::sweep(base::TimePoint before, base::TimePoint now, Aftermath& after) {
  tidy_queues([&](LockQueue& queue) { (void)queue.expire(now, limits_.lock_turn); }, after);
  if (now < next_sweep_) return;
  next_sweep_ = now + sweep_pause;
  std::vector<clientid4> unused;
  for (const auto& [id, states] : clients_) {
    // Those of clients with sessions go with the last state of theirs.
    if (states->client->minor_version() > 0 && states->states != nullptr) continue;
    std::erase_if(states->open_owners, [&](const auto& entry) {
      OpenOwner& owner = *entry.second;
      if (owner.sequence.busy() || owner.used > before) return false;
      if (!owner.confirmed && owner.latest != nullptr && !owner.latest->closed) end(*owner.latest, after);
      if (owner.opens > 0) return false;
      drop_closed(owner, after);
      return true;
    });
    std::erase_if(states->lock_owners, [&](const auto& entry) {
      const LockOwner& owner = *entry.second;
      return !owner.sequence.busy() && owner.used <= before && owner.locks.empty();
    });
    unused.push_back(id);
  }
  for (const clientid4 id : unused) forget_if_unused(id);
}

StatePage FileStates::list(const StateQuery& query) const {
  constexpr std::uint32_t places_max = 4096;
  StatePage page;
  if (query.from >= table_.places()) return page;
  const std::uint32_t end = query.from + std::min(places_max, table_.places() - query.from);
  for (std::uint32_t index = query.from; index < end; ++index) {
    const State* state = table_.at(index);
    if (state == nullptr || (query.kind && state->kind != *query.kind)) continue;
    if (query.client && state->client->id != *query.client) continue;
    if (page.lines.size() == query.lines_max) {
      page.next = index;
      return page;
    }
    if (auto line = line_of(*state)) page.lines.push_back(std::move(*line));
  }
  if (end < table_.places()) page.next = end;
  return page;
}

StateCounts FileStates::count() const { return counts_; }

StateCounts FileStates::count(clientid4 client) const {
  const ClientStates* states = find_client(client);
  return states == nullptr ? StateCounts() : states->counts;
}

}  // namespace braid::nfs4::state
