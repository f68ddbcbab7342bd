#include "store/chunks/pins.h"

#include <algorithm>

namespace braid::store {

Pins::Use Pins::use() {
  return state_.with([this](State& state) {
    const std::uint64_t since = ++state.last;
    state.uses.insert(since);
    return Use(this, since);
  });
}

void Pins::end(std::uint64_t since) {
  state_.with([since](State& state) { state.uses.erase(state.uses.find(since)); });
}

bool Pins::refer(std::uint32_t container) {
  return state_.with([container](State& state) {
    if (state.condemned.contains(container)) return false;
    state.referred[container] = ++state.last;
    return true;
  });
}

std::uint64_t Pins::last() {
  return state_.with([](const State& state) { return state.last; });
}

std::uint64_t Pins::begin_mark() {
  return state_.with([](State& state) {
    const std::uint64_t now = ++state.last;
    const std::uint64_t since = state.uses.empty() ? now : *state.uses.begin();
    // What nobody holds any more has its record, or none.
    std::erase_if(state.referred, [since](const auto& one) { return one.second < since; });
    return since;
  });
}

void Pins::pardon(std::uint32_t container) {
  state_.with([container](State& state) { state.condemned.erase(container); });
}

std::vector<std::uint32_t> Pins::condemn(std::span<const std::uint32_t> containers, std::uint64_t mark) {
  return state_.with([&](State& state) {
    std::vector<std::uint32_t> out;
    for (const std::uint32_t container : containers) {
      const auto referred = state.referred.find(container);
      if (referred != state.referred.end() && referred->second >= mark) continue;
      state.condemned.insert(container);
      out.push_back(container);
    }
    return out;
  });
}

}  // namespace braid::store
