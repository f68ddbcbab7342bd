// Virtual time: a queue of events, and a reactor whose clock moves only when nothing is left to run.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/manual/manual_clock.h"
#include "io/reactor.h"

namespace braid::sim {

// Belongs to one thread. Events of the same time run in the order in which they were made. Waits of the code
// under test (io::Timer) see the clock move in steps of at most `step_max`.
class Scheduler {
 public:
  static constexpr base::Duration step_max = std::chrono::milliseconds(100);

  Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  [[nodiscard]] const base::Clock& clock() const { return clock_; }
  [[nodiscard]] base::TimePoint now() const { return clock_.now(); }
  [[nodiscard]] io::Reactor& reactor() { return *reactor_; }

  void at(base::TimePoint when, std::function<void()> event) {
    events_.emplace(std::pair(when, ++made_), std::move(event));
  }
  void after(base::Duration wait, std::function<void()> event) { at(now() + wait, std::move(event)); }
  // co_await scheduler.sleep(d)
  auto sleep(base::Duration wait) {
    struct Awaiter {
      Scheduler& scheduler;
      base::Duration wait;
      [[nodiscard]] bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> handle) {
        scheduler.after(wait, [handle] { io::ReadyQueue::current().push(io::ReadyItem::of(handle)); });
      }
      void await_resume() const {}
    };
    return Awaiter{*this, wait};
  }

  // Runs events until `over` says so; it is asked before each one. Once.
  void run(std::function<bool()> over);

 private:
  void turn();
  void again();

  base::ManualClock clock_;
  std::unique_ptr<io::Reactor> reactor_;
  std::map<std::pair<base::TimePoint, std::uint64_t>, std::function<void()>> events_;
  std::uint64_t made_ = 0;
  std::function<bool()> over_;
};

}  // namespace braid::sim
