// The part of Locks that knows who is in whose way, and whose turn it is.
#include <algorithm>
#include <utility>

#include "nfs4/state/locks/locks.h"

namespace braid::nfs4::state {

namespace {

// Whether this is a turn that keeps another owner from the range, if its own owner can use it.
bool keeps_out(const LockWaiter& turn, const LockQueue& queue, clientid4 client, base::BytesView owner,
               const HeldRange& wanted) {
  if (turn.hope != LockWaiter::Hope::answered || turn.is(client, owner)) return false;
  // Clients poll once a second at most. If the one that has just unlocked were refused for the sake of one
  // that polls, both would take turns at that pace.
  if (turn.polls && turn.client != client && queue.released_by() == client) return false;
  return turn.wanted.range.overlaps(wanted.range) && vfs::types_conflict(turn.wanted.type, wanted.type);
}

}  // namespace

const vfs::LockTable::Entry* Locks::conflict(const FileState& file, vfs::LockOwnerId owner,
                                             const HeldRange& wanted) const {
  const FileLocks& locking = file.locking();
  {
    const StepCounter::Look look(steps(), locking.ranges);
    const auto* const held = locking.ranges.conflict(owner, wanted.range, wanted.type);
    if (held != nullptr) return held;
  }
  steps().add(locking.claims.size());
  const auto claim = std::ranges::find_if(locking.claims, [&](const vfs::LockTable::Entry& one) {
    return one.owner != owner && one.range.overlaps(wanted.range) &&
           vfs::types_conflict(one.type, wanted.type);
  });
  return claim == locking.claims.end() ? nullptr : &*claim;
}

bool Locks::is_held(const FileState& file, const LockWaiter& waiter) const {
  const auto id = owner_id(waiter.client, base::text_of(waiter.owner));
  return conflict(file, id.value_or(vfs::LockOwnerId{}), waiter.wanted) != nullptr;
}

// Whose turn keeps others from the range. A turn counts only while its owner can use it.
const LockWaiter* Locks::turn_in_the_way(const FileState& file, clientid4 client, std::string_view owner,
                                         const HeldRange& wanted) const {
  for (const LockWaiter& waiter : file.locking().queue.waiters()) {
    steps().add(1);
    if (keeps_out(waiter, file.locking().queue, client, base::bytes_of(owner), wanted) &&
        !is_held(file, waiter))
      return &waiter;
  }
  return nullptr;
}

// Who would keep this owner from the range.
std::optional<LockHolder> Locks::holder_in_the_way(const FileState& file, clientid4 client,
                                                   std::string_view owner, const HeldRange& wanted) const {
  const auto own = owner_id(client, owner).value_or(vfs::LockOwnerId{});
  const auto* const held = conflict(file, own, wanted);
  if (held != nullptr) {
    const LockState& lock = *file.locking().locks.at(held->owner);
    return LockHolder{lock.client->id, lock.owner->name, {held->range, held->type}};
  }
  if (const LockWaiter* const waiter = turn_in_the_way(file, client, owner, wanted); waiter != nullptr)
    return LockHolder{waiter->client, std::string(base::text_of(waiter->owner)), waiter->wanted};
  return std::nullopt;
}

// Those that count.
std::vector<const LockWaiter*> Locks::turns_of(const FileState& file) const {
  std::vector<const LockWaiter*> turns;
  for (const LockWaiter& waiter : file.locking().queue.waiters()) {
    steps().add(1);
    if (waiter.hope == LockWaiter::Hope::answered && !is_held(file, waiter)) turns.push_back(&waiter);
  }
  return turns;
}

// In their order: who has its turn now keeps those behind it waiting.
void Locks::tell_waiters(FileState& file, const ByteRange& freed, DeferredWork& work) {
  std::optional<std::vector<const LockWaiter*>> turns;
  bool told = false;
  for (LockWaiter& waiter : file.locking().queue.waiters()) {
    steps().add(1);
    if (waiter.hope != LockWaiter::Hope::turn || !waiter.wanted.range.overlaps(freed) ||
        is_held(file, waiter))
      continue;
    if (!turns) turns = turns_of(file);
    steps().add(turns->size());
    if (std::ranges::any_of(*turns, [&](const LockWaiter* turn) {
          return keeps_out(*turn, file.locking().queue, waiter.client, waiter.owner, waiter.wanted);
        }))
      continue;
    waiter.hope = LockWaiter::Hope::answered;
    turns->push_back(&waiter);
    told = true;
    if (waiter.polls) continue;
    work.turns.push_back({waiter.client, std::string(base::text_of(waiter.owner)), file.handle});
    ++turns_given_;
  }
  if (told) look_after(file);
}

void Locks::freed(FileState& file, const ByteRange& range, DeferredWork& work) {
  if (file.locking().queue.empty()) return;
  if (quiet_ == 0) return tell_waiters(file, range, work);
  if (freed_.empty() || freed_.back().file != &file) {
    freed_.push_back({&file, range});
    return;
  }
  ByteRange& whole = freed_.back().range;
  whole = {std::min(whole.first, range.first), std::max(whole.last, range.last)};
}

bool Locks::tell_some(DeferredWork& work) {
  const StepCounter::Call call(steps());
  while (!freed_.empty() && !call.over()) {
    const Freed one = freed_.back();
    freed_.pop_back();
    tell_waiters(*one.file, one.range, work);
  }
  return !freed_.empty();
}

void Locks::look_after(FileState& file) {
  FileLocks& locking = file.locking();
  const std::vector<LockWaiter>& waiters = locking.queue.waiters();
  steps().add(waiters.size());
  // An empty one is seen to next.
  const base::TimePoint due = waiters.empty() ? base::TimePoint::min() : locking.queue.due();
  if (locking.due != due) {
    if (locking.due) due_.erase({*locking.due, locking.queue_number});
    locking.due = due;
    due_.emplace(std::pair(due, locking.queue_number), &file);
  }
  const bool local = std::ranges::any_of(
      waiters, [](const LockWaiter& waiter) { return waiter.hope == LockWaiter::Hope::local; });
  if (local)
    local_.emplace(locking.queue_number, &file);
  else
    local_.erase(locking.queue_number);
}

void Locks::wait_for(LockState& lock, const LockRequest& request, LockWaiter::Hope hope, DeferredWork& work) {
  FileState& file = *lock.file;
  const StateLimits& limits = registry_.limits();
  const base::BytesView owner = base::bytes_of(lock.owner->name);
  const auto found = waits_.find(lock.client->id);
  const rpc::PeerKey peer = peer_of(lock.client->intro.address);
  const auto of_peer = places_of_peer_.find(peer);
  const bool room =
      places_ < limits.lock_waits_max &&
      (found == waits_.end() || found->second.places < limits.lock_waits_per_client) &&
      (of_peer == places_of_peer_.end() || !over_share(of_peer->second, places_, limits.lock_waits_max));
  if (file.locking().queue_number == 0) file.locking().queue_number = ++queues_made_;
  const std::size_t before = file.locking().queue.waiters().size();
  const LockQueue::Left replaced =
      file.locking().queue.wait({.client = lock.client->id,
                                 .owner = base::Bytes(owner.begin(), owner.end()),
                                 .wanted = request.wanted,
                                 .until = request.use.now + limits.lock_patience,
                                 .polls = !request.can_be_told,
                                 .hope = hope},
                                room);
  if (file.locking().queue.waiters().size() + replaced.size() > before) {
    Waits& waits = waits_[lock.client->id];
    waits.files.emplace(file.locking().queue_number, &file);
    waits.peer = peer;
    ++waits.places;
    ++places_;
    ++places_of_peer_[peer];
    look_after(file);
  }
  left(file, replaced, work);
}

void Locks::left(FileState& file, const LockQueue::Left& left, DeferredWork& work) {
  if (left.empty()) return;
  for (const LockWaiter& waiter : left) {
    const auto waits = waits_.find(waiter.client);
    --places_;
    const auto of_peer = places_of_peer_.find(waits->second.peer);
    if (--of_peer->second == 0) places_of_peer_.erase(of_peer);
    steps().add(file.locking().queue.waiters().size());
    if (!file.locking().queue.has(waiter.client)) waits->second.files.erase(file.locking().queue_number);
    if (--waits->second.places == 0) waits_.erase(waits);
  }
  look_after(file);
  for (const LockWaiter& waiter : left)
    if (waiter.hope == LockWaiter::Hope::answered) freed(file, waiter.wanted.range, work);
}

// The second time it sees when the turns begin that have just been given.
void Locks::end_turns(FileState& file, base::TimePoint now, DeferredWork& work) {
  bool again = !file.locking().queue.empty();
  while (again) {
    const LockQueue::Left over = file.locking().queue.expire(now, registry_.limits().lock_turn);
    left(file, over, work);
    again = !over.empty();
  }
  if (!file.locking().queue.empty()) look_after(file);
}

void Locks::client_leaves(clientid4 client, DeferredWork& work) {
  const auto found = waits_.find(client);
  if (found == waits_.end()) return;
  const Files files = found->second.files;
  quietly([&] {
    for (const auto& [number, file] : files) left(*file, file->locking().queue.forget_client(client), work);
  });
  tell_some(work);
}

bool Locks::tidy(base::TimePoint now, DeferredWork& work) {
  const StepCounter::Call call(steps());
  if (tell_some(work)) return true;
  while (!due_.empty() && due_.begin()->first.first <= now) {
    if (call.over()) return true;
    FileState& file = *due_.begin()->second;
    end_turns(file, now, work);
    if (!file.locking().queue.empty()) continue;
    due_.erase({*std::exchange(file.locking().due, std::nullopt), file.locking().queue_number});
    const vfs::FileHandle handle = file.handle;
    registry_.forget_if_unused(handle);
  }
  return false;
}

std::vector<LocalWait> Locks::local_waits() const {
  const StepCounter::Call call(steps());
  std::vector<LocalWait> waits;
  for (const auto& [number, file] : local_) {
    if (file->opens.empty()) continue;
    for (const LockWaiter& waiter : file->locking().queue.waiters()) {
      steps().add(1);
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
  const StepCounter::Call call(steps());
  FileState* const file = registry_.find_file(wait.file);
  if (file == nullptr) return;
  if (!file->locking().queue.local_gone(wait.client, base::bytes_of(wait.owner), wait.wanted)) return;
  look_after(*file);
  tell_waiters(*file, wait.wanted.range, work);
}

}  // namespace braid::nfs4::state
