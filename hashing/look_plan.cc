#include "hashing/look_plan.h"

#include <algorithm>
#include <chrono>

namespace braid::hashing {
namespace {

constexpr auto asked_steadily = std::chrono::microseconds(20);  // and an eighth of the expected time
constexpr auto interval = std::chrono::microseconds(20);

}  // namespace

Looks LookPlan::plan(base::TimePoint started, base::Duration expected) const {
  const base::TimePoint first = started + std::chrono::duration_cast<base::Duration>(from_ * expected);
  return {.first = first, .steady = asked_steadily + expected / 8, .steady_until = {}, .count = 0};
}

// Who has overslept does not sleep again at once: that would take as much too long.
void LookPlan::look(Looks& looks, base::TimePoint now) {
  if (now < looks.first) return;
  if (looks.count == 0) looks.steady_until = now + looks.steady;
  ++looks.count;
}

base::TimePoint LookPlan::next(const Looks& looks, base::TimePoint now) {
  if (now < looks.first) return looks.first;
  return looks.count == 0 || now < looks.steady_until ? now : now + interval;
}

void LookPlan::learn(const Looks& looks) {
  constexpr double least = 0.1, most = 0.95, down = 0.95, up = 0.01;
  from_ = looks.count <= 1 ? std::max(least, from_ * down) : std::min(most, from_ + up);
}

}  // namespace braid::hashing
