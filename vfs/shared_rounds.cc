#include "vfs/shared_rounds.h"

#include "base/assert.h"

namespace braid::vfs {

bool SharedRounds::waits(Caller& caller) {
  return state_.with([&](State& state) {
    if (!std::exchange(state.running, true)) {
      caller.leads = true;
      return false;
    }
    base::check(caller.reactor != nullptr, "who waits for a round does so on a reactor");
    caller.next = std::exchange(state.waiting, &caller);
    return true;
  });
}

void SharedRounds::begin(Caller& leader) {
  state_.with([&](State& state) {
    while (state.waiting != nullptr) {
      Caller& caller = *state.waiting;
      state.waiting = std::exchange(caller.next, leader.next);
      leader.next = &caller;
    }
  });
}

void SharedRounds::done(Caller& leader) {
  Caller* const next = state_.with([](State& state) {
    Caller* const first = std::exchange(state.waiting, nullptr);
    state.running = first != nullptr;
    return first;
  });
  if (next != nullptr) {
    next->leads = true;
    next->reactor->post(next->handle);
  }
  // A caller is gone as soon as it is resumed.
  for (Caller* caller = leader.next; caller != nullptr;) {
    Caller* const answered = std::exchange(caller, caller->next);
    answered->outcome = leader.outcome;
    answered->reactor->post(answered->handle);
  }
}

}  // namespace braid::vfs
