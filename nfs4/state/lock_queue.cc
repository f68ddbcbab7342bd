#include "nfs4/state/lock_queue.h"

#include <algorithm>

namespace braid::nfs4::state {

void LockQueue::wait(clientid4 client, base::BytesView owner, const HeldRange& wanted,
                     base::TimePoint until) {
  const auto found =
      std::ranges::find_if(waiters_, [&](const LockWaiter& waiter) { return waiter.is(client, owner); });
  if (found != waiters_.end() && found->wanted == wanted) {
    found->until = until;
    found->told = false;
    return;
  }
  if (found != waiters_.end()) waiters_.erase(found);
  if (waiters_.size() >= waiters_max) return;
  waiters_.push_back({client, base::Bytes(owner.begin(), owner.end()), wanted, until, false});
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
