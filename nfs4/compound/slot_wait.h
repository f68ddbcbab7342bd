// Waiting, in a coroutine, for the first of two equal requests (state/slots.h), and waking who waits.
#pragma once

#include <coroutine>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/result.h"
#include "io/reactor.h"
#include "nfs4/state/clients/session.h"

namespace braid::nfs4 {

class SlotWait : private state::SlotWaiter {
 public:
  SlotWait(state::Session& session, const state::SlotRequest& request, io::Reactor& reactor)
      : session_(session), request_(request), reactor_(reactor) {}

  // co_await SlotWait(...): what start() said; `wait` when it has waited, and start() is to be called again.
  [[nodiscard]] bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<> handle) {
    handle_ = handle;
    outcome_ = session_.start(request_, this);
    return outcome_->has_value() && (*outcome_)->verdict == state::SlotVerdict::wait;
  }
  base::Result<state::SlotStart, nfsstat4> await_resume() { return std::move(*outcome_); }

  // Resumes all who wait, as Session::finish() returned them. Any thread.
  static void wake(state::SlotWaiter* waiting) {
    while (waiting != nullptr) {
      auto* one = static_cast<SlotWait*>(waiting);
      waiting = waiting->next;
      // From here on it belongs to its own thread again.
      one->reactor_.post(one->handle_);
    }
  }

 private:
  state::Session& session_;
  const state::SlotRequest request_;
  io::Reactor& reactor_;
  std::coroutine_handle<> handle_;
  std::optional<base::Result<state::SlotStart, nfsstat4>> outcome_;
};

}  // namespace braid::nfs4
