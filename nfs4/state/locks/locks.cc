#include "nfs4/state/locks/locks.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace braid::nfs4::state {

namespace {

base::Failure<LockRefusal> cannot(nfsstat4 status) {
  return base::Failure<LockRefusal>{{.why = {.status = status, .blockers = {}}, .holder = std::nullopt}};
}

// Of a list in no order.
void take_out(std::vector<LockState*>& from, std::size_t LockState::* place, const LockState& lock) {
  LockState* const last = from.back();
  from[lock.*place] = last;
  last->*place = lock.*place;
  from.pop_back();
}

void put_in(std::vector<LockState*>& into, std::size_t LockState::* place, LockState& lock) {
  lock.*place = into.size();
  into.push_back(&lock);
}

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
    if (!registry_.room_for_owner(&states.peer, states.lock_owners.size())) {
      registry_.note_refused();
      return base::fail(limit_status(request.use.minor_version));
    }
    auto owner = std::make_unique<LockOwner>(registry_.owners(), states.peer.owners);
    found = states.lock_owners.emplace(std::string(*request.new_owner), std::move(owner)).first;
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
  if (const auto known = open.file->locking().locks.find((*owner)->id);
      known != open.file->locking().locks.end()) {
    if (known->second->revoked) return base::fail(nfsstat4::NFS4ERR_DELAY);
    return known->second;
  }
  auto* lock = registry_.make<LockState>(states, *open.file, **owner, open);
  if (lock == nullptr) {
    drop_if_unused(states, **owner);
    return base::fail(limit_status(request.use.minor_version));
  }
  fresh = true;
  lock->made = request.use.now;
  open.file->locking().locks.emplace((*owner)->id, lock);
  put_in(open.locks, &LockState::at_open, *lock);
  put_in((*owner)->locks, &LockState::at_owner, *lock);
  return lock;
}

bool Locks::room_for_ranges(const ClientStates& states, const FileState& file, std::size_t more) {
  if (registry_.room_for_ranges(states, more) &&
      file.locking().ranges.size() + more <= registry_.limits().lock_ranges_per_file)
    return true;
  ++refused_full_;
  return false;
}

void Locks::recount(LockState& lock) {
  const std::size_t now = lock.file->locking().ranges.count(lock.owner->id);
  registry_.note_ranges(*registry_.find_client(lock.client->id), lock.ranges, now);
  lock.owner->holding += static_cast<std::size_t>(now > 0) - static_cast<std::size_t>(lock.ranges > 0);
  lock.ranges = now;
}

base::Result<LockAnswer, LockRefusal> Locks::lock(const LockRequest& request, DeferredWork& work) {
  const StepCounter::Call call(steps());
  bool fresh = false;
  const auto found = state_for(request, fresh);
  if (!found) return cannot(found.error());
  LockState& lock = **found;
  FileState& file = *lock.file;
  ClientStates& states = *registry_.find_client(lock.client->id);
  end_turns(file, request.use.now, work);

  const std::uint8_t access = request.wanted.type == LockMode::write ? share_write : share_read;
  LockRefusal refusal;
  if (!lock.open->owner->confirmed) {
    refusal.why.status = nfsstat4::NFS4ERR_BAD_STATEID;
  } else if ((lock.open->share.access & access) == 0) {
    refusal.why.status = nfsstat4::NFS4ERR_OPENMODE;
  } else if (auto holder = holder_in_the_way(file, lock.client->id, lock.owner->name, request.wanted);
             holder) {
    refusal.why.status = nfsstat4::NFS4ERR_DENIED;
    if (const ClientStates* other = registry_.find_client(holder->client); other != nullptr)
      refusal.why.blockers.push_back(other->client);
    refusal.holder = std::move(holder);
    if (request.blocking) wait_for(lock, request, LockWaiter::Hope::turn, work);
  } else if (has_claim(lock)) {
    refusal.why.status = nfsstat4::NFS4ERR_DELAY;
  } else if (portion_of(lock, request.wanted.range) != request.wanted.range) {
    // It leaves less than there is.
    if (file.locking().claims.size() < claims_max) return claim(lock, request, work);
    refusal.why.status = nfsstat4::NFS4ERR_DELAY;
  } else if (!room_for_ranges(states, file, 2)) {
    refusal.why.status = limit_status(request.use.minor_version);
  } else {
    return take(lock, request, fresh, work);
  }
  if (fresh) end(lock, work);
  return base::Failure<LockRefusal>{std::move(refusal)};
}

LockAnswer Locks::take(LockState& lock, const LockRequest& request, bool fresh, DeferredWork& work) {
  LockOwner& owner = *lock.owner;
  FileState& file = *lock.file;
  const HeldRange& wanted = request.wanted;
  const std::uint8_t access = wanted.type == LockMode::write ? share_write : share_read;
  LockAnswer answer{.id = {},
                    .owner = owner.id,
                    .open = lock.open->descriptors.get(access),
                    .fresh = fresh,
                    .first = false,
                    .claimed = false,
                    .former = file.locking().ranges.held(owner.id, wanted.range),
                    .former_seqid = lock.seqid};
  {
    const StepCounter::Look look(steps(), file.locking().ranges);
    file.locking().ranges.lock(owner.id, wanted.range, wanted.type);
  }
  recount(lock);
  answer.first = note_granted(lock, request, work);
  // Readers may come where it was the only one.
  if (wanted.type == LockMode::read && !answer.former.empty()) freed(file, wanted.range, work);
  answer.id = fresh ? lock.id() : lock.bump();
  return answer;
}

bool Locks::note_granted(LockState& lock, const LockRequest& request, DeferredWork& work) {
  LockOwner& owner = *lock.owner;
  FileState& file = *lock.file;
  left(file, file.locking().queue.forget(lock.client->id, base::bytes_of(owner.name), request.wanted.range),
       work);
  owner.used = request.use.now;
  if (!request.new_owner || request.use.minor_version > 0) return false;
  const bool first = !owner.sequence.started();
  owner.sequence.start_at(request.new_owner_seqid);
  return first;
}

LockAnswer Locks::claim(LockState& lock, const LockRequest& request, DeferredWork& work) {
  const HeldRange& wanted = request.wanted;
  const std::uint8_t access = wanted.type == LockMode::write ? share_write : share_read;
  lock.file->locking().claims.push_back({wanted.range, wanted.type, lock.owner->id});
  LockAnswer answer{.id = lock.id(),
                    .owner = lock.owner->id,
                    .open = lock.open->descriptors.get(access),
                    .fresh = false,
                    .first = false,
                    .claimed = true,
                    .former = {},
                    .former_seqid = lock.seqid};
  answer.first = note_granted(lock, request, work);
  return answer;
}

LockState* Locks::locked(const LockAnswer& answer) const {
  const auto found = registry_.ids().find(answer.id, 1);
  if (!found || (*found)->kind != StateKind::lock || (*found)->revoked) return nullptr;
  return static_cast<LockState*>(*found);
}

// From the beginning each time: what was noted before is one range.
base::Result<std::optional<stateid4>, nfsstat4> Locks::take_some(const LockAnswer& answer,
                                                                 const HeldRange& wanted,
                                                                 DeferredWork& work) {
  const StepCounter::Call call(steps());
  LockState* const lock = locked(answer);
  if (lock == nullptr || lock->client->gone()) return base::fail(nfsstat4::NFS4ERR_BAD_STATEID);
  FileState& file = *lock->file;
  const ByteRange portion = portion_of(*lock, wanted.range);
  {
    const StepCounter::Look look(steps(), file.locking().ranges);
    file.locking().ranges.lock(answer.owner, portion, wanted.type);
  }
  recount(*lock);
  if (wanted.type == LockMode::read) freed(file, portion, work);
  if (portion != wanted.range) return std::nullopt;
  drop_claim(*lock);
  return lock->bump();
}

bool Locks::has_claim(const LockState& lock) {
  return std::ranges::any_of(lock.file->locking().claims,
                             [&](const auto& claim) { return claim.owner == lock.owner->id; });
}

void Locks::drop_claim(LockState& lock) {
  std::erase_if(lock.file->locking().claims,
                [&](const auto& claim) { return claim.owner == lock.owner->id; });
}

void Locks::undo(const LockAnswer& answer, const LockRequest& request, bool for_local, DeferredWork& work) {
  const StepCounter::Call call(steps());
  LockState* const found = locked(answer);
  if (found == nullptr) return;
  LockState& lock = *found;
  FileState& file = *lock.file;
  if (answer.claimed) {
    drop_claim(lock);
  } else {
    const StepCounter::Look look(steps(), file.locking().ranges);
    file.locking().ranges.unlock(answer.owner, request.wanted.range);
    for (const HeldRange& held : answer.former)
      file.locking().ranges.lock(answer.owner, held.range, held.type);
  }
  recount(lock);
  // Who is refused learns of no new stateid (RFC 8881 8.2.2).
  if (lock.seqid == answer.id.seqid) lock.seqid = answer.former_seqid;
  // A client whose first lock was refused may forget the owner without a word, and begin again.
  if (answer.first) lock.owner->sequence = OwnerSequence();
  if (request.blocking && for_local) wait_for(lock, request, LockWaiter::Hope::local, work);
  freed(file, request.wanted.range, work);
  if (answer.fresh && lock.ranges == 0) end(lock, work);
}

ByteRange Locks::portion_of(const LockState& lock, const ByteRange& range) const {
  if (lock.ranges <= ranges_at_once) return range;
  steps().add(ranges_at_once);
  return lock.file->locking().ranges.beginning(lock.owner->id, range, ranges_at_once);
}

void Locks::release(LockState& lock, const ByteRange& range, DeferredWork& work) {
  FileState& file = *lock.file;
  {
    const StepCounter::Look look(steps(), file.locking().ranges);
    file.locking().ranges.unlock(lock.owner->id, range);
  }
  recount(lock);
  file.locking().queue.note_release(lock.client->id);
  if (auto open = lock.open->descriptors.any(); open != nullptr)
    work.released.push_back({std::move(open), lock.owner->id, vfs::range_of(range)});
  freed(file, range, work);
}

base::Result<std::optional<stateid4>, nfsstat4> Locks::unlock(const StateUse& use, ByteRange& range,
                                                              DeferredWork& work) {
  const StepCounter::Call call(steps());
  const auto found = registry_.find<LockState>(use);
  if (!found) return base::fail(found.error());
  LockState& lock = **found;
  FileState& file = *lock.file;
  const ClientStates& states = *registry_.find_client(lock.client->id);
  if (has_claim(lock)) return base::fail(nfsstat4::NFS4ERR_DELAY);
  if (file.locking().ranges.splits(lock.owner->id, range) && !room_for_ranges(states, file, 1))
    return base::fail(limit_status(use.minor_version));
  const ByteRange portion = portion_of(lock, range);
  release(lock, portion, work);
  lock.owner->used = use.now;
  if (portion.last == range.last) return lock.bump();
  range.first = portion.last + 1;
  return std::nullopt;
}

std::optional<LockHolder> Locks::test(clientid4 client, std::string_view owner, const vfs::FileHandle& handle,
                                      const HeldRange& wanted) const {
  const StepCounter::Call call(steps());
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

base::Result<bool, nfsstat4> Locks::release_owner(clientid4 client, std::string_view name,
                                                  DeferredWork& work) {
  const StepCounter::Call call(steps());
  ClientStates* states = registry_.find_client(client);
  if (states == nullptr) return false;
  for (std::size_t ended = 0; ended < states_at_once; ++ended) {
    // The last one takes the owner with it if the client has sessions.
    const auto found = states->lock_owners.find(name);
    if (found == states->lock_owners.end()) return false;
    LockOwner& owner = *found->second;
    if (owner.holding > 0 || owner.sequence.busy()) return base::fail(nfsstat4::NFS4ERR_LOCKS_HELD);
    if (owner.locks.empty()) {
      states->lock_owners.erase(found);
      return false;
    }
    end(*owner.locks.back(), work);
  }
  return true;
}

// Of all its locks, of which there are few.
std::size_t Locks::ranges_of(const OpenState& open) const {
  steps().add(open.locks.size());
  std::size_t ranges = 0;
  for (const LockState* const lock : open.locks) ranges += lock->ranges;
  return ranges;
}

base::Result<bool, nfsstat4> Locks::end_some(const StateUse& open_use, DeferredWork& work) {
  const StepCounter::Call call(steps());
  const auto found = registry_.find<OpenState>(open_use);
  if (!found) return base::fail(found.error());
  OpenState& open = **found;
  std::size_t ranges = open.locks.size() > states_at_once ? 0 : ranges_of(open);
  const auto many = [&] { return open.locks.size() > states_at_once || ranges > states_at_once; };
  if (freed_.empty() && !many()) return false;
  quietly([&] {
    for (std::size_t ended = 0; many() && ended < states_at_once && !call.over(); ++ended) {
      LockState& lock = *open.locks.back();
      const std::size_t before = lock.ranges;
      const bool more = lessen(lock, work);
      ranges -= std::min(ranges, before - (more ? lock.ranges : 0));
      if (!more) end_of_open(lock, work);
    }
  });
  tell_some(work);
  return true;
}

void Locks::detach(LockState& lock, DeferredWork& work) {
  steps().add(1);
  LockOwner& owner = *lock.owner;
  const OpenState& open = *lock.open;
  FileState& file = *lock.file;
  if (lock.ranges > 0) {
    if (auto descriptor = open.descriptors.any(); descriptor != nullptr)
      work.released.push_back({std::move(descriptor), owner.id, {}});
    const StepCounter::Look look(steps(), file.locking().ranges);
    file.locking().ranges.unlock(owner.id, whole_file);
  }
  recount(lock);
  drop_claim(lock);
  file.locking().locks.erase(owner.id);
  take_out(owner.locks, &LockState::at_owner, lock);
  take_out(lock.open->locks, &LockState::at_open, lock);
  lock.owner = nullptr;
  lock.open = nullptr;
  drop_if_unused(*registry_.find_client(lock.client->id), owner);
}

bool Locks::lessen(State& state, DeferredWork& work) {
  auto& lock = static_cast<LockState&>(state);
  if (lock.file == nullptr) return false;
  if (lock.ranges > ranges_at_once) {
    release(lock, portion_of(lock, whole_file), work);
    return true;
  }
  if (lock.revoked) detach_revoked(lock, work);
  return false;
}

void Locks::end(State& state, DeferredWork& work) {
  auto& lock = static_cast<LockState&>(state);
  if (lock.revoked) {
    if (lock.file != nullptr) detach_revoked(lock, work);
    registry_.note_freed(lock);
    registry_.erase(lock, work);
    return;
  }
  FileState& file = *lock.file;
  std::optional<ByteRange> hull;
  if (lock.ranges > 0) {
    hull = file.locking().ranges.hull(lock.owner->id);
    file.locking().queue.note_release(lock.client->id);
  }
  if (has_claim(lock)) hull = whole_file;
  detach(lock, work);
  registry_.erase(lock, work);
  if (hull) freed(file, *hull, work);
}

// Nobody can use it any more. What it locks goes in portions if it is much: lessen().
void Locks::revoke(State& state, DeferredWork& work) {
  auto& lock = static_cast<LockState&>(state);
  registry_.note_revoked(lock);
  drop_claim(lock);
  if (lock.ranges <= ranges_at_once) detach_revoked(lock, work);
}

void Locks::detach_revoked(LockState& lock, DeferredWork& work) {
  FileState& file = *lock.file;
  detach(lock, work);
  lock.file = nullptr;
  freed(file, whole_file, work);
}

void Locks::end_of_open(LockState& lock, DeferredWork& work) {
  if (!lock.revoked)
    end(lock, work);
  else if (lock.file != nullptr)
    detach_revoked(lock, work);
}

bool Locks::describe(const State& state, StateLine& line) const {
  const auto& lock = static_cast<const LockState&>(state);
  line.file = lock.file->handle;
  line.owner = lock.owner->name;
  line.range_count = lock.ranges;
  line.ranges = lock.file->locking().ranges.held(lock.owner->id, StateLine::ranges_max);
  line.open = lock.open->descriptors.any();
  return true;
}

void Locks::open_ends(OpenState& open, DeferredWork& work) {
  if (open.locks.empty()) return;
  quietly([&] {
    while (!open.locks.empty()) end_of_open(*open.locks.back(), work);
  });
  if (quiet_ == 0) tell_some(work);
}

}  // namespace braid::nfs4::state
