// Changes of files' bytes that are under way for a client.
//
// Who holds a lock, or an open that denies others, may write. When the client goes, others are given that: by
// then nothing of it may be under way, and nothing of it may begin. Who goes is barred first, and waited for
// after that.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <vector>

#include "base/guarded.h"
#include "io/reactor.h"

namespace braid::nfs4::state {

// Of one client. Thread-safe.
class ByteChanges {
 public:
  // False: the client is barred. If true, end() follows.
  [[nodiscard]] bool begin() {
    if (counts_.fetch_add(1) < one_bar) return true;
    end();
    return false;
  }
  void end() {
    const std::uint64_t before = counts_.fetch_sub(1);
    if (before > one_bar && under_way(before) == 1) wake();
  }
  // None begins until admit() was called as often. For who is gone it never is.
  void bar() { counts_.fetch_add(one_bar); }
  void admit() { counts_.fetch_sub(one_bar); }
  [[nodiscard]] bool any() const { return under_way(counts_.load()) != 0; }

  // co_await changes.ended(): goes on when none is under way. The caller has called bar(), and not yet
  // admit().
  class Ended {
   public:
    explicit Ended(ByteChanges& changes) : changes_(changes) {}
    [[nodiscard]] bool await_ready() const { return !changes_.any(); }
    bool await_suspend(std::coroutine_handle<> handle) {
      return changes_.waiting_.with([&](std::vector<Waiter>& waiting) {
        if (!changes_.any()) return false;
        waiting.push_back({io::Reactor::current(), handle});
        return true;
      });
    }
    void await_resume() const {}

   private:
    ByteChanges& changes_;
  };
  [[nodiscard]] Ended ended() { return Ended(*this); }

 private:
  struct Waiter {
    io::Reactor* reactor = nullptr;
    std::coroutine_handle<> handle;
  };
  static constexpr std::uint64_t one_bar = std::uint64_t{1} << 32U;
  static constexpr std::uint64_t under_way(std::uint64_t counts) { return counts % one_bar; }
  // Who began to wait before the last one ended is in the list by now, or has seen that.
  void wake();

  std::atomic<std::uint64_t> counts_{0};  // bars in the upper half, changes in the lower one
  base::Guarded<std::vector<Waiter>> waiting_;
};

}  // namespace braid::nfs4::state
