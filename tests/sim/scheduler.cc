#include "tests/sim/scheduler.h"

#include <algorithm>

namespace braid::sim {

Scheduler::Scheduler() : reactor_(io::Reactor::create({.ring_entries = 8}, clock_).value()) {}

void Scheduler::run(std::function<bool()> over) {
  over_ = std::move(over);
  again();
  reactor_->run();
}

void Scheduler::again() {
  reactor_->post(io::ReadyItem{[](void* self) { static_cast<Scheduler*>(self)->turn(); }, this});
}

// Stands in the reactor's queue like any other work; time goes on when it finds itself alone there.
void Scheduler::turn() {
  if (!reactor_->ready_queue().empty()) return again();
  if (over_()) return reactor_->stop();
  const base::TimePoint step_end = now() + step_max;
  if (events_.empty() || events_.begin()->first.first > step_end) {
    clock_.advance(step_max);
    return again();
  }
  auto next = events_.extract(events_.begin());
  clock_.advance(std::max(base::Duration(0), next.key().first - now()));
  next.mapped()();
  again();
}

}  // namespace braid::sim
