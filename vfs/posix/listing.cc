#include "vfs/posix/listing.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace braid::vfs::posix {

std::size_t ListingTurns::quarter_of_the_processors() {
  static const std::size_t quarter = std::max(1U, std::thread::hardware_concurrency() / 4);
  return quarter;
}

bool ListingTurns::State::walks_from(std::uint64_t cookie) const {
  return std::ranges::find(walking, cookie) != walking.end();
}

bool ListingTurns::waits(ListingCall& call) {
  return state_.with([&](State& state) {
    const std::uint64_t cookie = call.request.cookie;
    call.leads = state.walking.size() < walks_max_ && !state.walks_from(cookie);
    if (call.leads)
      state.walking.push_back(cookie);
    else
      state.waiting.push_back(&call);
    return !call.leads;
  });
}

// The first that may walk, with those that go along chained to it.
ListingCall* ListingTurns::next_leader(State& state) const {
  const auto may_walk = [&](const ListingCall* call) { return !state.walks_from(call->request.cookie); };
  const auto first = std::ranges::find_if(state.waiting, may_walk);
  if (first == state.waiting.end()) return nullptr;
  ListingCall* const leader = *first;
  ListingCall* last = leader;
  std::size_t together = 1;
  const auto goes_along = [&](ListingCall* call) {
    if (call == leader) return true;
    if (call->request.cookie != leader->request.cookie || together == together_max) return false;
    last = last->next = call;
    ++together;
    return true;
  };
  state.waiting.erase(std::remove_if(first, state.waiting.end(), goes_along), state.waiting.end());
  state.walking.push_back(leader->request.cookie);
  leader->leads = true;
  return leader;
}

void ListingTurns::done(ListingCall& leader) {
  ListingCall* const next = state_.with([&](State& state) {
    std::erase(state.walking, leader.request.cookie);
    return next_leader(state);
  });
  if (next != nullptr) next->reactor->post(next->waiter);
  // A call is gone as soon as it is resumed.
  for (ListingCall* call = leader.next; call != nullptr;) {
    ListingCall* const answered = std::exchange(call, call->next);
    answered->reactor->post(answered->waiter);
  }
}

}  // namespace braid::vfs::posix
