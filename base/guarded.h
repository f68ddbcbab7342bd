// A value and its lock: the only way in is with(f), and f may not be a coroutine, so nothing suspends under
// the lock.
#pragma once

#include <mutex>
#include <type_traits>
#include <utility>

namespace braid::base {

// What a coroutine returns, or what one waits for.
template <class T>
concept Awaitable = requires(T t) { t.await_ready(); } || requires(T t) { t.operator co_await(); } ||
                    requires { typename std::remove_cvref_t<T>::promise_type; };

template <class T>
class Guarded {
 public:
  Guarded() = default;
  template <class... Args>
  explicit Guarded(std::in_place_t, Args&&... args) : value_(std::forward<Args>(args)...) {}

  // Runs f(value) under the lock and returns what it returns.
  template <class F>
  auto with(F&& f) {
    static_assert(!Awaitable<std::invoke_result_t<F, T&>>, "nothing suspends under a lock");
    std::scoped_lock lock(mutex_);
    return std::forward<F>(f)(value_);
  }
  // The same, unless somebody has the lock: false.
  template <class F>
  bool try_with(F&& f) {
    static_assert(!Awaitable<std::invoke_result_t<F, T&>>, "nothing suspends under a lock");
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) std::forward<F>(f)(value_);
    return lock.owns_lock();
  }
  template <class F>
  auto with(F&& f) const {
    static_assert(!Awaitable<std::invoke_result_t<F, const T&>>, "nothing suspends under a lock");
    std::scoped_lock lock(mutex_);
    return std::forward<F>(f)(value_);
  }

 private:
  mutable std::mutex mutex_;
  T value_;
};

}  // namespace braid::base
