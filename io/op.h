// Op<T, E>: the one coroutine type. Lazy, move-only, awaited once; it ends with a value or an error.
//
//   Op<Attributes> f(...) {
//     Attributes a = co_await g();          // an error of g ends f with the same error
//     Result<int> r = co_await h().as_result();   // an error of h is looked at here
//     if (bad) co_return base::fail(EINVAL);
//     co_return a;
//   }
//   Op<> v() { co_await base::fail(EIO); }  // how an Op<void> fails
//
// A child runs inside the parent's await_ready; if it ends there, the parent goes on without suspending. A
// child that suspended pushes its parent on the thread's ReadyQueue when it ends. Nothing resumes
// recursively, so the stack does not grow (g++ 12 does not turn symmetric transfer into a tail call at -O0 or
// under sanitizers).
//
// A chain of Ops works for a peer: whoever starts its first one says for whom, and awaited ones do so for the
// same (co_await this_peer()). What is shared between peers, such as threads of the pool, asks the chain.
//
// An Op may also hold a result without having a frame: `return Op<int>(7);` costs no allocation.
// An exception that leaves a coroutine ends the process. A running Op is not cancelled: what it waits for
// ends with an error instead (a closed socket, a cancelled timer). Destroying an Op that has not ended is
// allowed only when nothing holds its continuation.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/assert.h"
#include "base/result.h"
#include "io/frame_allocator.h"
#include "io/peer_id.h"
#include "io/ready_queue.h"

namespace braid::io {

using base::Errno;
using base::Failure;
using base::Result;

template <class T = void, class E = Errno>
class Op;

// `PeerId peer = co_await this_peer();` in an Op: for whom it works.
struct ThisPeer {};
inline ThisPeer this_peer() { return {}; }

namespace detail {

struct PeerAwaiter {
  PeerId peer;
  [[nodiscard]] bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<> /*parent*/) const noexcept {}
  [[nodiscard]] PeerId await_resume() const noexcept { return peer; }
};

// Ends the parent with `error` in place of resuming it.
template <class E>
struct FailingAwaiter {
  E error;
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    parent.promise().fail(std::move(error));
  }
  void await_resume() const noexcept {}
};

template <class T, class E>
struct ResultAwaiter {
  Result<T, E> result;
  [[nodiscard]] bool await_ready() const noexcept { return result.has_value(); }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    parent.promise().fail(std::move(result.error()));
  }
  T await_resume() {
    if constexpr (!std::is_void_v<T>) return std::move(*result);
  }
};

// Awaits a child, which works for `peer`; with `Propagate` an error of the child ends the parent.
template <class T, class E, bool Propagate>
class OpAwaiter {
 public:
  OpAwaiter(Op<T, E>&& op, PeerId peer) : op_(std::move(op)), peer_(peer) {}

  [[nodiscard]] bool await_ready() {
    op_.start(peer_);
    if (!op_.done()) return false;
    return !Propagate || op_.result().has_value();
  }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> parent) {
    if (op_.done()) {  // only with Propagate and an error
      if constexpr (Propagate) parent.promise().fail(std::move(op_.result().error()));
      return;
    }
    parent_ = parent;
    if constexpr (Propagate) {
      op_.set_continuation(
          {[](void* self) { static_cast<OpAwaiter*>(self)->template wake<Promise>(); }, this});
    } else {
      op_.set_continuation(ReadyItem::of(parent));
    }
  }
  auto await_resume() {
    if constexpr (!Propagate) {
      return std::move(op_.result());
    } else if constexpr (!std::is_void_v<T>) {
      return T(std::move(*op_.result()));
    }
  }

 private:
  template <class Promise>
  void wake() {
    if (op_.result().has_value())
      parent_.resume();
    else
      std::coroutine_handle<Promise>::from_address(parent_.address())
          .promise()
          .fail(std::move(op_.result().error()));
  }

  Op<T, E> op_;
  PeerId peer_;
  std::coroutine_handle<> parent_;
};

template <class T, class E>
struct AsResult {
  Op<T, E> op;
};

template <class T, class E>
struct PromiseStorage {
  std::optional<Result<T, E>> result;
  ReadyItem continuation;
  PeerId peer{};  // for whom this works

  void finish() {
    if (continuation.run != nullptr) ReadyQueue::current().push(continuation);
  }
  void fail(E error) {
    result.emplace(std::unexpect, std::move(error));
    finish();
  }
};

template <class T, class E>
struct PromiseReturn : PromiseStorage<T, E> {
  template <class U = T>
  void return_value(U&& value) {
    this->result.emplace(std::forward<U>(value));
  }
};

template <class E>
struct PromiseReturn<void, E> : PromiseStorage<void, E> {
  void return_void() { this->result.emplace(); }
};

}  // namespace detail

template <class T, class E>
class [[nodiscard]] Op {
 public:
  using value_type = T;
  using error_type = E;

  struct promise_type : detail::PromiseReturn<T, E> {
    static void* operator new(std::size_t bytes) { return allocate_frame(bytes); }
    static void operator delete(void* frame, std::size_t bytes) noexcept { free_frame(frame, bytes); }

    Op get_return_object() { return Op(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct Finish {
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<promise_type> self) noexcept { self.promise().finish(); }
        void await_resume() const noexcept {}
      };
      return Finish{};
    }
    void unhandled_exception() noexcept { std::terminate(); }

    template <class U>
    auto await_transform(Op<U, E> op) {
      return detail::OpAwaiter<U, E, true>(std::move(op), this->peer);
    }
    template <class U, class F>
    auto await_transform(detail::AsResult<U, F> wrapped) {
      return detail::OpAwaiter<U, F, false>(std::move(wrapped.op), this->peer);
    }
    template <class U>
    auto await_transform(Result<U, E> outcome) {
      return detail::ResultAwaiter<U, E>{std::move(outcome)};
    }
    auto await_transform(Failure<E> failure) { return detail::FailingAwaiter<E>{std::move(failure.error())}; }
    auto await_transform(ThisPeer /*asked*/) { return detail::PeerAwaiter{this->peer}; }
    // Awaitables of the reactor: temporaries only, because g++ 12 copies an awaiter that is an lvalue.
    template <class A>
      requires(!std::is_lvalue_reference_v<A> && requires(A& a) { a.await_ready(); })
    A&& await_transform(A&& awaitable) {
      return std::forward<A>(awaitable);
    }
  };

  // An Op that has already ended.
  Op(Result<T, E> result) : ready_(std::move(result)) {}  // NOLINT(google-explicit-constructor)
  Op(Failure<E> failure) : ready_(std::in_place, std::unexpect, std::move(failure.error())) {}  // NOLINT
  template <class U = T>
    requires(!std::is_void_v<T> && std::is_convertible_v<U, T> && !std::is_same_v<std::remove_cvref_t<U>, Op>)
  Op(U&& value) : ready_(std::in_place, std::forward<U>(value)) {}  // NOLINT(google-explicit-constructor)

  Op(Op&& other) noexcept
      : ready_(std::move(other.ready_)),
        handle_(std::exchange(other.handle_, nullptr)),
        started_(other.started_) {}
  Op& operator=(Op&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      ready_ = std::move(other.ready_);
      handle_ = std::exchange(other.handle_, nullptr);
      started_ = other.started_;
    }
    return *this;
  }
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;
  ~Op() {
    if (handle_) handle_.destroy();
  }

  // co_await op.as_result(): the Result instead of ending the caller on error; the error type may differ.
  detail::AsResult<T, E> as_result() && { return {std::move(*this)}; }

  // For drivers (awaiters, spawn, tests): start() runs until the first suspension, once.
  void start(PeerId for_whom) {
    if (handle_ && !started_) {
      handle_.promise().peer = for_whom;
      started_ = true;
      handle_.resume();
    }
  }
  [[nodiscard]] bool done() const { return !handle_ || handle_.promise().result.has_value(); }
  // The result; done() must hold.
  Result<T, E>& result() {
    base::check(done(), "Op has ended");
    return handle_ ? *handle_.promise().result : *ready_;
  }
  void set_continuation(ReadyItem item) { handle_.promise().continuation = item; }

 private:
  explicit Op(std::coroutine_handle<promise_type> handle) : handle_(handle) {}

  std::optional<Result<T, E>> ready_;
  std::coroutine_handle<promise_type> handle_;
  bool started_ = false;
};

// A success without a value, for functions that return Op<> without being coroutines.
template <class E = Errno>
Op<void, E> ready_op() {
  return Op<void, E>(Result<void, E>());
}

}  // namespace braid::io
