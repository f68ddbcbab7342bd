// Going on on another reactor's thread.
#pragma once

#include <coroutine>

#include "io/reactor.h"

namespace braid::nfs4::callback {

// `co_await HopTo(reactor);`. A coroutine that goes elsewhere must come back before it ends, for whoever
// awaits it is resumed on the thread where it ends; what it awaits in between belongs to that other thread.
class HopTo {
 public:
  explicit HopTo(io::Reactor& reactor) : reactor_(reactor) {}
  [[nodiscard]] bool await_ready() const { return reactor_.on_own_thread(); }
  // Nothing may be touched after post(): the coroutine may be running already.
  void await_suspend(std::coroutine_handle<> handle) { reactor_.post(handle); }
  void await_resume() const {}

 private:
  io::Reactor& reactor_;
};

}  // namespace braid::nfs4::callback
