// Work that many callers want done at the same time, done once for all of them.
#pragma once

#include <coroutine>
#include <utility>

#include "base/guarded.h"
#include "io/reactor.h"
#include "vfs/open_file.h"

namespace braid::vfs {

// Thread-safe; outlives its calls. One round of the work runs at a time. Whoever comes meanwhile needs what a
// later one finds, so all of them share the next round, with its error; so do those who come before it
// begins.
class SharedRounds {
 public:
  // `work`, a VfsOp<>(), is done from its beginning to its end after this was called, by this caller or by
  // another one. On a reactor, if there may be others.
  template <class F>
  VfsOp<> run(F work) {
    Caller self;
    co_await Turn(*this, self);
    if (self.leads) {
      // Calls often come together: whatever else is ready on this thread may be one more.
      if (self.reactor != nullptr) co_await self.reactor->yield();
      begin(self);
      self.outcome = co_await work().as_result();
      done(self);
    }
    co_await std::move(self.outcome);
  }

 private:
  struct Caller {
    io::Reactor* reactor = nullptr;
    std::coroutine_handle<> handle;
    Caller* next = nullptr;  // that shares the round, or waits for the same one
    bool leads = false;
    base::Result<void, Error> outcome;
  };
  struct State {
    bool running = false;
    Caller* waiting = nullptr;  // for the next round
  };
  class Turn {
   public:
    Turn(SharedRounds& rounds, Caller& caller) : rounds_(rounds), caller_(caller) {}
    [[nodiscard]] bool await_ready() const { return false; }
    bool await_suspend(std::coroutine_handle<> handle) {
      caller_.reactor = io::Reactor::current();
      caller_.handle = handle;
      return rounds_.waits(caller_);
    }
    void await_resume() const {}

   private:
    SharedRounds& rounds_;
    Caller& caller_;
  };

  // False: the caller is to do the work.
  bool waits(Caller& caller);
  // Those who wait by now share the round of `leader`.
  void begin(Caller& leader);
  // Answers those who shared the round of `leader`, and has the next one begin.
  void done(Caller& leader);

  base::Guarded<State> state_;
};

}  // namespace braid::vfs
