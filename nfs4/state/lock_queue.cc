#include "nfs4/state/lock_queue.h"

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

void LockQueue::forget(clientid4 client, base::BytesView owner) {
  std::erase_if(waiters_, [&](const LockWaiter& waiter) { return waiter.is(client, owner); });
}

void LockQueue::forget_client(clientid4 client) {
  std::erase_if(waiters_, [&](const LockWaiter& waiter) { return waiter.client == client; });
}

void LockQueue::forget_late(base::TimePoint now) {
  std::erase_if(waiters_, [&](const LockWaiter& waiter) { return waiter.until <= now; });
}

}  // namespace braid::nfs4::state
