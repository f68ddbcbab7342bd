#include "pnfs_mds/turns.h"

#include "base/assert.h"

namespace braid::pnfs_mds {

void Turns::enter(bool alone) {
  if (alone)
    alone_ = true;
  else
    ++together_;
}

bool Turns::waits(std::coroutine_handle<> handle, bool alone) {
  const std::scoped_lock lock(mutex_);
  if (waiting_.empty() && free_for(alone)) {
    enter(alone);
    return false;
  }
  io::Reactor* const reactor = io::Reactor::current();
  base::check(reactor != nullptr, "who waits for a turn does so on a reactor");
  waiting_.push_back({reactor, handle, alone});
  return true;
}

void Turns::leave(bool alone) {
  const std::scoped_lock lock(mutex_);
  if (alone)
    alone_ = false;
  else
    --together_;
  while (!waiting_.empty() && free_for(waiting_.front().alone)) {
    const Waiter next = waiting_.front();
    waiting_.pop_front();
    enter(next.alone);
    next.reactor->post(next.handle);
  }
}

}  // namespace braid::pnfs_mds
