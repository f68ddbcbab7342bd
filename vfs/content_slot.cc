#include "vfs/content_slot.h"

#include "base/assert.h"

namespace braid::vfs {

// co_await Turn(slot): nobody else loads, exchanges or replaces; end_turn() must follow.
class ContentSlot::Turn {
 public:
  explicit Turn(ContentSlot& slot) : slot_(slot) {}
  [[nodiscard]] bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<> handle) {
    std::scoped_lock lock(slot_.mutex_);
    if (!std::exchange(slot_.taken_, true)) return false;
    base::check(io::Reactor::current() != nullptr, "who waits for a content does so on a reactor");
    waiter_ = {io::Reactor::current(), handle};
    (slot_.first_ == nullptr ? slot_.first_ : slot_.last_->next) = &waiter_;
    slot_.last_ = &waiter_;
    return true;
  }
  void await_resume() const {}

 private:
  ContentSlot& slot_;
  Waiter waiter_{};
};

// co_await Drained(slot, side): the calls of that side have ended. No new ones go there.
class ContentSlot::Drained {
 public:
  Drained(ContentSlot& slot, unsigned side) : slot_(slot), side_(side) {}
  [[nodiscard]] bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<> handle) {
    std::scoped_lock lock(slot_.mutex_);
    slot_.drain_ = {io::Reactor::current(), handle};
    // From here on whoever leaves as the last looks for us; who left before is seen in the count.
    slot_.draining_.store(side_);
    if (slot_.users_[side_].load() > 0) {
      base::check(slot_.drain_.reactor != nullptr, "who waits for calls to end does so on a reactor");
      return true;
    }
    slot_.draining_.store(no_side);
    slot_.drain_ = {};
    return false;
  }
  void await_resume() const {}

 private:
  ContentSlot& slot_;
  const unsigned side_;
};

ContentSlot::~ContentSlot() {
  base::check(users_[0] == 0 && users_[1] == 0 && !taken_, "a content slot outlives its calls");
}

std::optional<ContentSlot::Use> ContentSlot::enter() {
  for (;;) {
    const std::uint32_t generation = generation_.load();
    const unsigned side = generation & 1U;
    users_[side].fetch_add(1);
    // If it has changed, an exchange may have seen the count before this call was in it.
    if (generation_.load() != generation) {
      leave(side);
      continue;
    }
    if (open_.load(std::memory_order_acquire))
      return Use(*this, side, current_.load(std::memory_order_acquire));
    leave(side);
    return std::nullopt;
  }
}

void ContentSlot::leave(unsigned side) {
  if (users_[side].fetch_sub(1) == 1 && draining_.load() == side) look_for_drained(side);
}

void ContentSlot::look_for_drained(unsigned side) {
  std::scoped_lock lock(mutex_);
  if (draining_.load() != side || users_[side].load() > 0) return;
  draining_.store(no_side);
  std::exchange(drain_, {}).wake();
}

VfsOp<ContentSlot::Use> ContentSlot::acquire(Load load) {
  for (;;) {
    std::optional<Use> use = enter();
    if (use) co_return std::move(*use);
    const std::uint64_t failures = failures_.load();
    co_await Turn(*this);
    base::Result<void, Error> known = co_await make_known(load, failures).as_result();
    end_turn();
    co_await std::move(known);
  }
}

VfsOp<> ContentSlot::make_known(const Load& load, std::uint64_t failures) {
  if (known_) co_return;
  // That of a load which ended while the caller waited.
  if (failures_.load() != failures) co_await base::fail(failure_);
  base::Result<ContentRef, Error> loaded = co_await load().as_result();
  if (!loaded) {
    failure_ = loaded.error();
    failures_.fetch_add(1);
    co_await base::fail(failure_);
  }
  publish(std::move(*loaded));
}

void ContentSlot::publish(ContentRef content) {
  std::scoped_lock lock(mutex_);
  owner_.swap(content);
  current_.store(owner_.get(), std::memory_order_release);
  open_.store(true, std::memory_order_release);
  known_ = true;
}

ContentRef ContentSlot::content() const {
  std::scoped_lock lock(mutex_);
  return owner_;
}

io::Op<ContentRef> ContentSlot::exchange(ContentRef next) {
  co_await Turn(*this);
  ContentRef former = content();
  publish(std::move(next));
  const unsigned side = generation_.fetch_add(1) & 1U;
  co_await Drained(*this, side);
  end_turn();
  co_return std::move(former);
}

VfsOp<ContentRef> ContentSlot::replace(Load load, Replace next) {
  const std::uint64_t failures = failures_.load();
  co_await Turn(*this);
  base::Result<void, Error> known = co_await make_known(load, failures).as_result();
  if (!known) {
    end_turn();
    co_await base::fail(known.error());
  }
  open_.store(false);
  const unsigned side = generation_.fetch_add(1) & 1U;
  co_await Drained(*this, side);
  const ContentRef former = content();
  base::Result<ContentRef, Error> made = co_await next(former).as_result();
  publish(made ? *made : former);
  end_turn();
  co_return co_await std::move(made);
}

void ContentSlot::end_turn() {
  std::scoped_lock lock(mutex_);
  taken_ = first_ != nullptr;
  if (!taken_) return;
  // Its frame goes on at once, perhaps, and it ends with that.
  const Waiter next = *first_;
  first_ = next.next;
  next.wake();
}

}  // namespace braid::vfs
