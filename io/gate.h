// A gate counts work that outlives the function that started it; shutdown closes the gate and waits for the
// count.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <utility>

#include "base/assert.h"
#include "io/op.h"

namespace braid::io {

// Belongs to one reactor's thread. Must be closed and empty before it is destroyed.
class Gate {
 public:
  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() { base::check(count_ == 0, "a gate outlives the work behind it"); }

  // Held while work runs.
  class Hold {
   public:
    explicit Hold(Gate& gate) : gate_(&gate) { ++gate.count_; }
    Hold(Hold&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    Hold& operator=(Hold&&) = delete;
    ~Hold() {
      if (gate_ != nullptr) gate_->leave();
    }

   private:
    Gate* gate_;
  };

  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] std::size_t count() const { return count_; }
  // New work is to be refused from now on (callers ask closed()).
  void close() { closed_ = true; }

  // co_await gate.drained(): resumes when no work is left; one waiter.
  auto drained() {
    struct Awaiter {
      Gate& gate;
      [[nodiscard]] bool await_ready() const { return gate.count_ == 0; }
      void await_suspend(std::coroutine_handle<> handle) { gate.waiter_ = handle; }
      void await_resume() const {}
    };
    return Awaiter{*this};
  }

 private:
  void leave() {
    base::check(count_ > 0, "gate count");
    if (--count_ == 0 && waiter_) ReadyQueue::current().push(ReadyItem::of(std::exchange(waiter_, nullptr)));
  }

  std::size_t count_ = 0;
  bool closed_ = false;
  std::coroutine_handle<> waiter_;
};

namespace detail {

// A coroutine that owns itself: it starts at once and frees its frame at its end.
struct Detached {
  struct promise_type {
    static void* operator new(std::size_t bytes) { return allocate_frame(bytes); }
    static void operator delete(void* frame, std::size_t bytes) noexcept { free_frame(frame, bytes); }
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

template <class T, class E>
Detached run_detached(Gate::Hold hold, PeerId peer, Op<T, E> op) {
  (void)co_await OpAwaiter<T, E, false>(std::move(op), peer);
  (void)hold;
}

}  // namespace detail

// Runs `op`, which works for `peer`, in the background behind `gate`; its result is dropped, so it must have
// dealt with its errors itself.
template <class T, class E>
void spawn(Gate& gate, PeerId peer, Op<T, E> op) {
  detail::run_detached(Gate::Hold(gate), peer, std::move(op));
}

// The same for work of the server itself.
template <class T, class E>
void spawn(Gate& gate, Op<T, E> op) {
  spawn(gate, PeerId(), std::move(op));
}

}  // namespace braid::io
