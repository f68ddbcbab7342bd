// Threads for system calls that may block. Each use names its reason, and the metrics count them.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <coroutine>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>

#include "io/reactor.h"

namespace braid::io {

// Why a thread switch was paid.
enum class BlockingReason : std::uint8_t { read, write, sync, metadata, directory, open, other };
constexpr std::size_t blocking_reasons = 7;
std::string_view name_of(BlockingReason reason);

struct BlockingPoolOptions {
  unsigned threads_max = 16;     // started on demand, ended after idle_seconds
  std::size_t queue_max = 4096;  // jobs waiting; run() refuses more
  unsigned idle_seconds = 10;
};

struct BlockingPoolStats {
  std::array<std::uint64_t, blocking_reasons> jobs{};
  std::size_t queued = 0;
  unsigned threads = 0;
  std::uint64_t refused = 0;
};

// Thread-safe. Outlives every job; stop() waits for those running.
class BlockingPool {
 public:
  explicit BlockingPool(const BlockingPoolOptions& options);
  ~BlockingPool();
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  // `std::optional<T> r = co_await pool.run(reactor, reason, f)`: calls f() on a pool thread and resumes the
  // caller on `reactor`, its own. Nothing (nullopt) when the queue is full or the pool has stopped: answer
  // "try later". f is called in the caller's frame: it may refer to whatever the caller keeps alive.
  template <class F>
  auto run(Reactor& reactor, BlockingReason reason, F function) {
    return Job<F>(*this, reactor, reason, std::move(function));
  }
  [[nodiscard]] BlockingPoolStats stats() const;
  // Refuses new jobs, runs what is queued and waits for the threads to end. Before the reactors end.
  void stop();

 private:
  struct JobBase {
    void (*call)(JobBase*) = nullptr;
    Reactor* reactor = nullptr;
    std::coroutine_handle<> waiter;
  };

  template <class F>
  class Job : private JobBase {
    using T = std::invoke_result_t<F&>;

   public:
    Job(BlockingPool& pool, Reactor& reactor_of_caller, BlockingReason reason, F function)
        : pool_(pool), reason_(reason), function_(std::move(function)) {
      reactor = &reactor_of_caller;
      call = [](JobBase* self) {
        auto* job = static_cast<Job*>(self);
        job->result_.emplace(job->function_());
      };
    }
    [[nodiscard]] bool await_ready() const { return false; }
    // False (go on at once, without a result) when the pool refuses.
    bool await_suspend(std::coroutine_handle<> handle) {
      waiter = handle;
      return pool_.enqueue(this, reason_);
    }
    std::optional<T> await_resume() { return std::move(result_); }

   private:
    BlockingPool& pool_;
    BlockingReason reason_;
    F function_;
    std::optional<T> result_;
  };

  bool enqueue(JobBase* job, BlockingReason reason);
  void work();

  const BlockingPoolOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;   // a job came, or stop()
  std::condition_variable ended_;  // the last thread is gone
  std::deque<JobBase*> queue_;
  unsigned running_ = 0;  // threads alive
  unsigned idle_ = 0;     // of them waiting for a job
  bool stopping_ = false;
  BlockingPoolStats stats_;
};

}  // namespace braid::io
