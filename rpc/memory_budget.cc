#include "rpc/memory_budget.h"

#include <utility>

namespace braid::rpc {

void MemoryBudget::add(std::int64_t bytes) {
  const std::int64_t now = used_.fetch_add(bytes) + bytes;
  if (bytes < 0 && now < bytes_max_ && awaited_.load()) wake_all();
}

void MemoryBudget::wait(const Waiter& waiter) {
  waiters_.with([&](std::vector<Waiter>& waiters) {
    waiters.push_back(waiter);
    awaited_.store(true);
  });
  // Room may have come between the caller's look and now.
  if (!exhausted()) wake_all();
}

void MemoryBudget::forget(const io::Reactor& reactor) {
  waiters_.with([&](std::vector<Waiter>& waiters) {
    std::erase_if(waiters, [&](const Waiter& waiter) { return waiter.reactor == &reactor; });
  });
}

void MemoryBudget::wake_all() {
  const auto woken = waiters_.with([&](std::vector<Waiter>& waiters) {
    awaited_.store(false);
    return std::exchange(waiters, {});
  });
  for (const Waiter& waiter : woken) waiter.reactor->post(waiter.wake);
}

}  // namespace braid::rpc
