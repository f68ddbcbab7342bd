#include "nfs4/state/locks/lock_queue.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace braid::nfs4::state {

template <class Goes>
LockQueue::Left LockQueue::take_if(Goes goes) {
  const auto tail = std::ranges::stable_partition(waiters_, std::not_fn(goes));
  Left left(std::make_move_iterator(tail.begin()), std::make_move_iterator(tail.end()));
  waiters_.erase(tail.begin(), tail.end());
  return left;
}

LockQueue::Left LockQueue::wait(LockWaiter fresh, bool room) {
  const auto found = std::ranges::find_if(
      waiters_, [&](const LockWaiter& waiter) { return waiter.is(fresh.client, fresh.owner); });
  const bool known = found != waiters_.end();
  Left left;
  if (known) left.push_back(std::move(*found));
  if (known && left.front().wanted == fresh.wanted) {
    *found = std::move(fresh);
    return left;
  }
  if (known) waiters_.erase(found);
  if ((room || known) && waiters_.size() < waiters_max) waiters_.push_back(std::move(fresh));
  return left;
}

bool LockQueue::local_gone(clientid4 client, base::BytesView owner, const HeldRange& wanted) {
  const auto found = std::ranges::find_if(waiters_, [&](const LockWaiter& waiter) {
    return waiter.hope == LockWaiter::Hope::local && waiter.is(client, owner) && waiter.wanted == wanted;
  });
  if (found == waiters_.end()) return false;
  found->hope = LockWaiter::Hope::turn;
  return true;
}

LockQueue::Left LockQueue::forget(clientid4 client, base::BytesView owner, const ByteRange& range) {
  return take_if([&](const LockWaiter& waiter) {
    return waiter.is(client, owner) && range.first <= waiter.wanted.range.first &&
           waiter.wanted.range.last <= range.last;
  });
}

LockQueue::Left LockQueue::forget_client(clientid4 client) {
  return take_if([&](const LockWaiter& waiter) { return waiter.client == client; });
}

LockQueue::Left LockQueue::expire(base::TimePoint now, base::Duration turn_max) {
  for (LockWaiter& waiter : waiters_)
    if (waiter.hope == LockWaiter::Hope::answered && !waiter.turn_until) waiter.turn_until = now + turn_max;
  return take_if([&](const LockWaiter& waiter) {
    return waiter.until <= now || (waiter.turn_until && *waiter.turn_until <= now);
  });
}

base::TimePoint LockQueue::due() const {
  base::TimePoint first = base::TimePoint::max();
  for (const LockWaiter& waiter : waiters_) {
    first = std::min(first, waiter.until);
    if (waiter.hope == LockWaiter::Hope::answered)
      first = std::min(first, waiter.turn_until.value_or(base::TimePoint::min()));
  }
  return first;
}

bool LockQueue::has(clientid4 client) const {
  return std::ranges::any_of(waiters_, [&](const LockWaiter& waiter) { return waiter.client == client; });
}

}  // namespace braid::nfs4::state
