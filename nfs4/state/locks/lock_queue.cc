#include "nfs4/state/locks/lock_queue.h"

#include <algorithm>
#include <utility>

namespace braid::nfs4::state {

void LockQueue::wait(LockWaiter fresh) {
  const auto found = std::ranges::find_if(
      waiters_, [&](const LockWaiter& waiter) { return waiter.is(fresh.client, fresh.owner); });
  if (found != waiters_.end() && found->wanted == fresh.wanted) {
    *found = std::move(fresh);
    return;
  }
  if (found != waiters_.end()) waiters_.erase(found);
  if (waiters_.size() >= waiters_max) return;
  waiters_.push_back(std::move(fresh));
}

bool LockQueue::local_gone(clientid4 client, base::BytesView owner, const HeldRange& wanted) {
  const auto found = std::ranges::find_if(waiters_, [&](const LockWaiter& waiter) {
    return waiter.hope == LockWaiter::Hope::local && waiter.is(client, owner) && waiter.wanted == wanted;
  });
  if (found == waiters_.end()) return false;
  found->hope = LockWaiter::Hope::turn;
  return true;
}

void LockQueue::forget(clientid4 client, base::BytesView owner, const ByteRange& range) {
  std::erase_if(waiters_, [&](const LockWaiter& waiter) {
    return waiter.is(client, owner) && range.first <= waiter.wanted.range.first &&
           waiter.wanted.range.last <= range.last;
  });
}

void LockQueue::forget_client(clientid4 client) {
  std::erase_if(waiters_, [&](const LockWaiter& waiter) { return waiter.client == client; });
}

bool LockQueue::expire(base::TimePoint now, base::Duration turn_max) {
  bool ended = false;
  const auto late = [&](const LockWaiter& waiter) {
    return waiter.until <= now || (waiter.turn_until && *waiter.turn_until <= now);
  };
  for (LockWaiter& waiter : waiters_) {
    if (waiter.hope != LockWaiter::Hope::answered) continue;
    if (!waiter.turn_until) waiter.turn_until = now + turn_max;
    ended = ended || late(waiter);
  }
  std::erase_if(waiters_, late);
  return ended;
}

}  // namespace braid::nfs4::state
