#include "pnfs_ds/waiting.h"

#include "base/assert.h"

namespace braid::pnfs_ds {
namespace {

Parked parked(std::coroutine_handle<> handle) {
  io::Reactor* const home = io::Reactor::current();
  base::check(home != nullptr, "who waits for another thread has a reactor");
  return {home, handle};
}

}  // namespace

bool Turn::park(std::coroutine_handle<> handle) {
  const std::scoped_lock lock(mutex_);
  if (!std::exchange(taken_, true)) return false;
  waiting_.push_back(parked(handle));
  return true;
}

void Turn::leave() {
  const std::scoped_lock lock(mutex_);
  if (waiting_.empty()) {
    taken_ = false;
    return;
  }
  waiting_.front().resume();
  waiting_.pop_front();
}

bool RunningIo::idle() const {
  const std::scoped_lock lock(mutex_);
  return counts_[0] + counts_[1] == 0 && emptying_.empty() && next_.empty();
}

std::size_t RunningIo::enter() {
  const std::scoped_lock lock(mutex_);
  ++counts_[side_];
  return side_;
}

void RunningIo::leave(std::size_t side) {
  const std::scoped_lock lock(mutex_);
  if (--counts_[side] != 0 || side == side_) return;
  for (const Parked& one : std::exchange(emptying_, {})) one.resume();
  if (next_.empty()) return;
  side_ = 1 - side_;
  emptying_ = std::exchange(next_, {});
  if (counts_[1 - side_] != 0) return;
  for (const Parked& one : std::exchange(emptying_, {})) one.resume();
}

bool RunningIo::park(std::coroutine_handle<> handle) {
  const std::scoped_lock lock(mutex_);
  if (counts_[0] + counts_[1] == 0) return false;
  if (!emptying_.empty()) {
    next_.push_back(parked(handle));
    return true;
  }
  // The other side is empty: what runs is all on this one.
  side_ = 1 - side_;
  emptying_.push_back(parked(handle));
  return true;
}

}  // namespace braid::pnfs_ds
