// A job on its way through the engine.
#pragma once

#include <condition_variable>
#include <coroutine>
#include <mutex>
#include <span>

#include "base/clock.h"
#include "hashing/job.h"
#include "io/reactor.h"

namespace braid::hashing {

// For a thread that waits until its task is complete.
class Completion {
 public:
  void set() {
    // Who waits may end this object as soon as the lock is free.
    std::scoped_lock lock(mutex_);
    is_set_ = true;
    changed_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_set_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_set_ = false;
};

// Lives in the frame of the coroutine that submitted it, or on the stack of the thread, until complete().
// Whoever has it in a queue or a slot is the only one to touch it.
struct Task {
  Job job;
  std::uint64_t bytes = 0;
  // Cutting may end where one of these begins; the workers do, cards are not asked.
  std::span<const Chunk> known{};
  base::TimePoint submitted{};
  Choice choice{};  // but for `where`, which is the result's
  base::Result<JobResult> result = base::fail(ECANCELED);
  io::Reactor* reactor = nullptr;
  std::coroutine_handle<> waiter;
  Completion* completion = nullptr;  // instead of reactor and waiter

  // Resumes the submitter on its reactor, or wakes its thread; the task may be gone when this returns.
  void complete() {
    if (completion != nullptr) return completion->set();
    io::Reactor& home = *reactor;
    home.post(waiter);
  }
};

}  // namespace braid::hashing
