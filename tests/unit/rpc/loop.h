// Reactors for tests: one that runs a coroutine on the test's own thread, one with a thread of its own.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "io/gate.h"
#include "io/op.h"
#include "io/reactor.h"

namespace braid::rpc::test {

// run(body) runs a coroutine until it ends; once per loop.
class Loop {
 public:
  explicit Loop(const base::Clock& clock) : reactor_(io::Reactor::create({}, clock).value()) {}
  [[nodiscard]] io::Reactor& reactor() { return *reactor_; }
  template <class Body>
  void run(Body body) {
    auto rest = [this](Body run_body) -> io::Op<> {
      (void)co_await run_body().as_result();
      // In a later turn: this coroutine is to have left the gate by then.
      reactor_->post(std::function<void()>([this] { reactor_->stop(); }));
    };
    reactor_->post(std::function<void()>([&] { io::spawn(gate_, rest(body)); }));
    reactor_->run();
    ASSERT_EQ(gate_.count(), 0U);
  }

 private:
  std::unique_ptr<io::Reactor> reactor_;
  io::Gate gate_;
};

class ReactorThread {
 public:
  explicit ReactorThread(const base::Clock& clock)
      : reactor_(io::Reactor::create({}, clock).value()), thread_([this] { reactor_->run(); }) {}
  ~ReactorThread() { reactor_->stop(); }
  ReactorThread(const ReactorThread&) = delete;
  ReactorThread& operator=(const ReactorThread&) = delete;

  [[nodiscard]] io::Reactor& reactor() { return *reactor_; }
  // Calls f on the reactor's thread and returns what it returns.
  template <class F>
  auto call(F f) {
    std::packaged_task<std::invoke_result_t<F>()> task(std::move(f));
    auto result = task.get_future();
    reactor_->post(std::function<void()>([&task] { task(); }));
    return result.get();
  }
  // Runs f(), an Op, on the reactor's thread until it ends.
  template <class F>
  void await(F f) {
    std::promise<void> ended;
    auto run = [&ended](F body) -> io::Op<> {
      (void)co_await body().as_result();
      ended.set_value();
    };
    reactor_->post(std::function<void()>([&] { io::spawn(gate_, run(f)); }));
    ended.get_future().get();
  }

 private:
  std::unique_ptr<io::Reactor> reactor_;
  io::Gate gate_;
  std::jthread thread_;
};

}  // namespace braid::rpc::test
