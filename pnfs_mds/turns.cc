#include "pnfs_mds/turns.h"

#include "base/assert.h"

namespace braid::pnfs_mds {

void Turns::enter(bool alone) {
  if (alone)
    alone_ = true;
  else
    ++together_;
}

bool Turns::waits(Waiter& waiter) {
  const std::scoped_lock lock(mutex_);
  if (first_ == nullptr && free_for(waiter.alone)) {
    enter(waiter.alone);
    return false;
  }
  waiter.reactor = io::Reactor::current();
  base::check(waiter.reactor != nullptr, "who waits for a turn does so on a reactor");
  (first_ == nullptr ? first_ : last_->next) = &waiter;
  last_ = &waiter;
  return true;
}

void Turns::leave(bool alone) {
  const std::scoped_lock lock(mutex_);
  if (alone)
    alone_ = false;
  else
    --together_;
  while (first_ != nullptr && free_for(first_->alone)) {
    // Its frame goes on at once, perhaps, and it ends with that.
    const Waiter next = *first_;
    first_ = next.next;
    enter(next.alone);
    next.reactor->post(next.handle);
  }
}

}  // namespace braid::pnfs_mds
