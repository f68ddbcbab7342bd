#include "nfs4/state/locks/locks.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace braid::nfs4::state {

namespace {

base::Failure<LockRefusal> cannot(nfsstat4 status) {
  return base::Failure<LockRefusal>{{.why = {.status = status, .blockers = {}}, .holder = std::nullopt}};
}

// The first lock of somebody else that `wanted` conflicts with.
const LockState* holder_of(const FileState& file, clientid4 client, std::string_view owner,
                           const HeldRange& wanted, HeldRange& held) {
  for (const LockState* lock : file.locks) {
    if (lock->client->id == client && lock->owner->name == owner) continue;
    if (const auto conflict = lock->ranges.conflict(wanted.range, wanted.mode); conflict) {
      held = *conflict;
      return lock;
    }
  }
  return nullptr;
}

bool is_held(const FileState& file, clientid4 client, std::string_view owner, const HeldRange& wanted) {
  HeldRange ignored;
  return holder_of(file, client, owner, wanted, ignored) != nullptr;
}

// Whose turn keeps others from the range.
const LockWaiter* turn_in_the_way(const FileState& file, clientid4 client, std::string_view owner,
                                  const HeldRange& wanted) {
  for (const LockWaiter& waiter : file.queue.waiters()) {
    if (waiter.hope != LockWaiter::Hope::answered || waiter.is(client, base::bytes_of(owner))) continue;
    // Clients poll once a second at most. If the one that has just unlocked were refused for the sake of one
    // that polls, both would take turns at that pace.
    if (waiter.polls && waiter.client != client && file.queue.released_by() == client) continue;
    const bool conflicts =
        waiter.wanted.range.overlaps(wanted.range) && modes_conflict(waiter.wanted.mode, wanted.mode);
    // A turn counts only while its owner can use it.
    if (conflicts && !is_held(file, waiter.client, base::text_of(waiter.owner), waiter.wanted))
      return &waiter;
  }
  return nullptr;
}

// Who would keep this owner from the range.
std::optional<LockHolder> holder_in_the_way(const FileState& file, clientid4 client, std::string_view owner,
                                            const HeldRange& wanted) {
  HeldRange held;
  if (const LockState* lock = holder_of(file, client, owner, wanted, held); lock != nullptr)
    return LockHolder{lock->client->id, lock->owner->name, held};
  if (const LockWaiter* waiter = turn_in_the_way(file, client, owner, wanted); waiter != nullptr)
    return LockHolder{waiter->client, std::string(base::text_of(waiter->owner)), waiter->wanted};
  return std::nullopt;
}

// The parts of `ranges` inside `range`.
std::vector<HeldRange> parts_within(const RangeSet& ranges, const ByteRange& range) {
  std::vector<HeldRange> parts;
  ranges.each([&](const HeldRange& held) {
    if (held.range.overlaps(range))
      parts.push_back(
          {{std::max(held.range.first, range.first), std::min(held.range.last, range.last)}, held.mode});
  });
  return parts;
}

vfs::LockRange to_vfs(const ByteRange& range) { return {.offset = range.first, .length = length_of(range)}; }

// An owner of a client with sessions is gone with its last lock. Those of 4.0 stay a while, for their
// sequence: sweep() ends them.
void drop_if_unused(ClientStates& states, const LockOwner& owner) {
  if (states.client->minor_version() > 0 && owner.locks.empty())
    states.lock_owners.erase(states.lock_owners.find(owner.name));
}

}  // namespace

Locks::Locks(StateRegistry& registry)
    : Kind({.kind = StateKind::lock,
            .name = "lock",
            .when_revoked = nfsstat4::NFS4ERR_ADMIN_REVOKED,
            .sequence_flag = SEQ4_STATUS_ADMIN_STATE_REVOKED}),
      registry_(registry) {}

base::Result<LockOwner*, nfsstat4> Locks::owner_for(ClientStates& states, const LockRequest& request) {
  auto found = states.lock_owners.find(*request.new_owner);
  if (found == states.lock_owners.end()) {
    if (!registry_.room_for_owner(states.lock_owners.size()))
      return base::fail(limit_status(request.use.minor_version));
    found = states.lock_owners
                .emplace(std::string(*request.new_owner), std::make_unique<LockOwner>(registry_.owners()))
                .first;
    found->second->name = *request.new_owner;
    found->second->id = vfs::LockOwnerId{++owners_made_};
  }
  LockOwner& owner = *found->second;
  // RFC 7530 16.10.5: an owner that is known already goes on counting.
  if (request.use.minor_version == 0 && !owner.sequence.follows(request.new_owner_seqid))
    return base::fail(nfsstat4::NFS4ERR_BAD_SEQID);
  owner.used = request.use.now;
  return &owner;
}

base::Result<LockState*, nfsstat4> Locks::state_for(const LockRequest& request, bool& fresh) {
  if (!request.new_owner) return registry_.find<LockState>(request.use);
  const auto found = registry_.find<OpenState>(request.use);
  if (!found) return base::fail(found.error());
  OpenState& open = **found;
  ClientStates& states = *registry_.find_client(open.client->id);
  const auto owner = owner_for(states, request);
  if (!owner) return base::fail(owner.error());
  for (LockState* lock : (*owner)->locks)
    if (lock->file == open.file) return lock;
  auto* lock = registry_.make<LockState>(states, *open.file, **owner, open);
  if (lock == nullptr) {
    drop_if_unused(states, **owner);
    return base::fail(limit_status(request.use.minor_version));
  }
  fresh = true;
  lock->made = request.use.now;
  open.file->locks.push_back(lock);
  open.locks.push_back(lock);
  (*owner)->locks.push_back(lock);
  return lock;
}

base::Result<LockAnswer, LockRefusal> Locks::lock(const LockRequest& request, DeferredWork& work) {
  bool fresh = false;
  const auto found = state_for(request, fresh);
  if (!found) return cannot(found.error());
  LockState& lock = **found;
  LockOwner& owner = *lock.owner;
  FileState& file = *lock.file;
  ClientStates& states = *registry_.find_client(lock.client->id);
  // The second time it sees when the turns begin that have just been given.
  while (file.queue.expire(request.use.now, registry_.limits().lock_turn))
    tell_waiters(file, whole_file, work);

  const std::uint8_t access = request.wanted.mode == LockMode::write ? share_write : share_read;
  LockRefusal refusal;
  if (!lock.open->owner->confirmed) {
    refusal.why.status = nfsstat4::NFS4ERR_BAD_STATEID;
  } else if ((lock.open->share.access & access) == 0) {
    refusal.why.status = nfsstat4::NFS4ERR_OPENMODE;
  } else if (auto holder = holder_in_the_way(file, lock.client->id, owner.name, request.wanted); holder) {
    refusal.why.status = nfsstat4::NFS4ERR_DENIED;
    if (const ClientStates* other = registry_.find_client(holder->client); other != nullptr)
      refusal.why.blockers.push_back(other->client);
    refusal.holder = std::move(holder);
    if (request.blocking) wait_for(lock, request, LockWaiter::Hope::turn);
  } else if (states.lock_ranges + 2 > registry_.limits().lock_ranges_per_client) {
    refusal.why.status = limit_status(request.use.minor_version);
  } else {
    return take(lock, request, fresh);
  }
  if (fresh) end(lock, work);
  return base::Failure<LockRefusal>{std::move(refusal)};
}

void Locks::wait_for(LockState& lock, const LockRequest& request, LockWaiter::Hope hope) {
  const base::BytesView owner = base::bytes_of(lock.owner->name);
  lock.file->queue.wait({.client = lock.client->id,
                         .owner = base::Bytes(owner.begin(), owner.end()),
                         .wanted = request.wanted,
                         .until = request.use.now + registry_.limits().lock_patience,
                         .polls = !request.can_be_told,
                         .hope = hope});
  if (!std::exchange(lock.file->queued, true)) queued_.push_back(lock.file);
}

LockAnswer Locks::take(LockState& lock, const LockRequest& request, bool fresh) {
  LockOwner& owner = *lock.owner;
  ClientStates& states = *registry_.find_client(lock.client->id);
  const std::uint8_t access = request.wanted.mode == LockMode::write ? share_write : share_read;
  LockAnswer answer{.id = {},
                    .owner = owner.id,
                    .open = lock.open->descriptors.get(access),
                    .fresh = fresh,
                    .first = false,
                    .former = parts_within(lock.ranges, request.wanted.range),
                    .former_seqid = lock.seqid};
  states.lock_ranges -= lock.ranges.size();
  lock.ranges.lock(request.wanted.range, request.wanted.mode);
  states.lock_ranges += lock.ranges.size();
  lock.file->queue.forget(lock.client->id, base::bytes_of(owner.name), request.wanted.range);
  owner.used = request.use.now;
  if (request.new_owner && request.use.minor_version == 0) {
    answer.first = !owner.sequence.started();
    owner.sequence.start_at(request.new_owner_seqid);
  }
  answer.id = fresh ? lock.id() : lock.bump();
  return answer;
}

void Locks::undo(const LockAnswer& answer, const LockRequest& request, bool for_local, DeferredWork& work) {
  const auto found = registry_.ids().find(answer.id, 1);
  if (!found || (*found)->kind != StateKind::lock) return;
  auto& lock = static_cast<LockState&>(**found);
  if (lock.revoked) return;
  ClientStates& states = *registry_.find_client(lock.client->id);
  states.lock_ranges -= lock.ranges.size();
  lock.ranges.unlock(request.wanted.range);
  for (const HeldRange& held : answer.former) lock.ranges.lock(held.range, held.mode);
  states.lock_ranges += lock.ranges.size();
  // Who is refused learns of no new stateid (RFC 8881 8.2.2).
  if (lock.seqid == answer.id.seqid) lock.seqid = answer.former_seqid;
  // A client whose first lock was refused may forget the owner without a word, and begin again.
  if (answer.first) lock.owner->sequence = OwnerSequence();
  if (request.blocking && for_local) wait_for(lock, request, LockWaiter::Hope::local);
  tell_waiters(*lock.file, request.wanted.range, work);
  if (answer.fresh && lock.ranges.empty()) end(lock, work);
}

base::Result<stateid4, nfsstat4> Locks::unlock(const StateUse& use, const ByteRange& range,
                                               DeferredWork& work) {
  const auto found = registry_.find<LockState>(use);
  if (!found) return base::fail(found.error());
  LockState& lock = **found;
  ClientStates& states = *registry_.find_client(lock.client->id);
  if (states.lock_ranges >= registry_.limits().lock_ranges_per_client && lock.ranges.splits(range))
    return base::fail(limit_status(use.minor_version));
  states.lock_ranges -= lock.ranges.size();
  lock.ranges.unlock(range);
  states.lock_ranges += lock.ranges.size();
  lock.owner->used = use.now;
  lock.file->queue.note_release(lock.client->id);
  if (auto open = lock.open->descriptors.any(); open != nullptr)
    work.released.push_back({std::move(open), lock.owner->id, to_vfs(range)});
  tell_waiters(*lock.file, range, work);
  return lock.bump();
}

std::vector<LocalWait> Locks::local_waits() const {
  std::vector<LocalWait> waits;
  for (const FileState* file : queued_) {
    if (file->opens.empty()) continue;
    for (const LockWaiter& waiter : file->queue.waiters()) {
      if (waiter.hope != LockWaiter::Hope::local) continue;
      if (waits.size() == local_waits_max) return waits;
      const std::string_view owner = base::text_of(waiter.owner);
      waits.push_back({.client = waiter.client,
                       .owner = std::string(owner),
                       .id = owner_id(waiter.client, owner).value_or(vfs::LockOwnerId{}),
                       .file = file->handle,
                       .open = file->opens.front()->descriptors.any(),
                       .wanted = waiter.wanted});
    }
  }
  return waits;
}

void Locks::local_gone(const LocalWait& wait, DeferredWork& work) {
  FileState* const file = registry_.find_file(wait.file);
  if (file == nullptr) return;
  if (file->queue.local_gone(wait.client, base::bytes_of(wait.owner), wait.wanted))
    tell_waiters(*file, wait.wanted.range, work);
}

std::optional<LockHolder> Locks::test(clientid4 client, std::string_view owner, const vfs::FileHandle& handle,
                                      const HeldRange& wanted) const {
  const FileState* file = registry_.find_file(handle);
  return file == nullptr ? std::nullopt : holder_in_the_way(*file, client, owner, wanted);
}

std::optional<vfs::LockOwnerId> Locks::owner_id(clientid4 client, std::string_view owner) const {
  const ClientStates* states = registry_.find_client(client);
  if (states == nullptr) return std::nullopt;
  const auto found = states->lock_owners.find(owner);
  if (found == states->lock_owners.end()) return std::nullopt;
  return found->second->id;
}

base::Result<void, nfsstat4> Locks::release_owner(clientid4 client, std::string_view name,
                                                  DeferredWork& work) {
  ClientStates* states = registry_.find_client(client);
  if (states == nullptr) return {};
  const auto found = states->lock_owners.find(name);
  if (found == states->lock_owners.end()) return {};
  LockOwner& owner = *found->second;
  const bool holds =
      std::ranges::any_of(owner.locks, [](const LockState* lock) { return !lock->ranges.empty(); });
  if (holds || owner.sequence.busy()) return base::fail(nfsstat4::NFS4ERR_LOCKS_HELD);
  // The last one takes the owner with it if the client has sessions.
  for (LockState* lock : std::vector<LockState*>(owner.locks)) end(*lock, work);
  if (const auto left = states->lock_owners.find(name); left != states->lock_owners.end())
    states->lock_owners.erase(left);
  return {};
}

void Locks::tell_waiters(FileState& file, const ByteRange& freed, DeferredWork& work) {
  for (LockWaiter& waiter : file.queue.waiters()) {
    const std::string_view owner = base::text_of(waiter.owner);
    if (waiter.hope != LockWaiter::Hope::turn || !waiter.wanted.range.overlaps(freed) ||
        is_held(file, waiter.client, owner, waiter.wanted) ||
        turn_in_the_way(file, waiter.client, owner, waiter.wanted) != nullptr)
      continue;
    waiter.hope = LockWaiter::Hope::answered;
    if (waiter.polls) continue;
    work.turns.push_back({waiter.client, std::string(owner), file.handle});
    ++turns_given_;
  }
}

void Locks::detach(LockState& lock, DeferredWork& work) {
  ClientStates& states = *registry_.find_client(lock.client->id);
  LockOwner& owner = *std::exchange(lock.owner, nullptr);
  const OpenState& open = *lock.open;
  states.lock_ranges -= lock.ranges.size();
  if (!lock.ranges.empty()) {
    if (auto descriptor = open.descriptors.any(); descriptor != nullptr)
      work.released.push_back({std::move(descriptor), owner.id, {}});
  }
  std::erase(lock.file->locks, &lock);
  std::erase(owner.locks, &lock);
  std::erase(std::exchange(lock.open, nullptr)->locks, &lock);
  drop_if_unused(states, owner);
}

void Locks::end(State& state, DeferredWork& work) {
  auto& lock = static_cast<LockState&>(state);
  if (lock.revoked) {
    registry_.note_freed(lock);
    registry_.erase(lock, work);
    return;
  }
  FileState& file = *lock.file;
  std::optional<ByteRange> freed;
  if (!lock.ranges.empty()) {
    freed = lock.ranges.hull();
    file.queue.note_release(lock.client->id);
  }
  detach(lock, work);
  registry_.erase(lock, work);
  if (freed) tell_waiters(file, *freed, work);
}

// It locks nobody out any more.
void Locks::revoke(State& state, DeferredWork& work) {
  auto& lock = static_cast<LockState&>(state);
  FileState& file = *lock.file;
  detach(lock, work);
  lock.file = nullptr;
  lock.ranges = RangeSet();
  registry_.note_revoked(lock);
  tell_waiters(file, whole_file, work);
}

bool Locks::describe(const State& state, StateLine& line) const {
  const auto& lock = static_cast<const LockState&>(state);
  line.file = lock.file->handle;
  line.owner = lock.owner->name;
  line.range_count = lock.ranges.size();
  lock.ranges.each([&](const HeldRange& held) {
    if (line.ranges.size() < StateLine::ranges_max) line.ranges.push_back(held);
  });
  line.open = lock.open->descriptors.any();
  return true;
}

void Locks::open_ends(OpenState& open, DeferredWork& work) {
  while (!open.locks.empty()) end(*open.locks.back(), work);
}

template <class F>
void Locks::tidy_queues(F&& f, DeferredWork& work) {
  for (FileState* const file : std::vector<FileState*>(queued_)) {
    f(file->queue);
    tell_waiters(*file, whole_file, work);
    if (!file->queue.empty()) continue;
    file->queued = false;
    std::erase(queued_, file);
    const vfs::FileHandle handle = file->handle;
    registry_.forget_if_unused(handle);
  }
}

void Locks::client_leaves(clientid4 client, DeferredWork& work) {
  tidy_queues([&](LockQueue& queue) { queue.forget_client(client); }, work);
}

void Locks::tick(base::TimePoint /*lease_ago*/, base::TimePoint now, DeferredWork& work) {
  tidy_queues([&](LockQueue& queue) { (void)queue.expire(now, registry_.limits().lock_turn); }, work);
}

void Locks::sweep(ClientStates& states, base::TimePoint before) {
  std::erase_if(states.lock_owners, [&](const auto& entry) {
    const LockOwner& owner = *entry.second;
    return !owner.sequence.busy() && owner.used <= before && owner.locks.empty();
  });
}

}  // namespace braid::nfs4::state
