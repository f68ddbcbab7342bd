// Threads for system calls that may block. Each use names its reason, and the metrics count them. The peers
// that jobs are for, and what they need (a group, such as an export), take turns (io/fair_queue.h).
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/fair_queue.h"
#include "io/peer_id.h"
#include "io/reactor.h"

namespace braid::io {

// Why a thread switch was paid.
enum class BlockingReason : std::uint8_t { read, write, sync, metadata, directory, open, other };
constexpr std::size_t blocking_reasons = 7;
std::string_view name_of(BlockingReason reason);

struct BlockingPoolOptions {
  // Started on demand, ended after idle_seconds. A group or a peer that has none may get one beyond
  // (FairQueue::running_max_of_group()).
  unsigned threads_max = 16;
  std::size_t queue_max = 4096;  // jobs waiting; run() refuses more
  unsigned idle_seconds = 10;
};

struct BlockingPoolStats {
  std::array<std::uint64_t, blocking_reasons> jobs{};
  std::size_t queued = 0;
  unsigned threads = 0;
  std::uint64_t refused = 0;
  std::vector<FairQueue::GroupStats> groups;  // one for each name
};

class BlockingPool;

// What groups and their pool share. Lives as long as one of them.
struct BlockingShares {
  explicit BlockingShares(const FairQueueOptions& options) : queue(options) {}
  std::mutex mutex;
  // The rest with the lock held.
  FairQueue queue;
  BlockingPool* pool = nullptr;  // null once it has ended
};

// What jobs need, as an export: one that has no threads left leaves some to others. Thread-safe; outlives its
// jobs. When the pool has ended, new ones are refused.
class BlockingGroup {
 public:
  BlockingGroup(BlockingPool& pool, std::string name);
  ~BlockingGroup();
  BlockingGroup(const BlockingGroup&) = delete;
  BlockingGroup& operator=(const BlockingGroup&) = delete;

  // `std::optional<T> r = co_await group.run(reactor, reason, f)`: calls f() on a pool thread and resumes the
  // caller on `reactor`, its own. Nothing (nullopt) when too much of the peer that the caller works for waits
  // already, or the pool has stopped: answer "try later". f is called in the caller's frame: it may refer to
  // whatever the caller keeps alive.
  template <class F>
  auto run(Reactor& reactor, BlockingReason reason, F function);
  // The same for what is done once for many: it has the turns of no peer, but the server's own.
  template <class F>
  auto run_for_all(Reactor& reactor, BlockingReason reason, F function);
  // Calls `function` on a pool thread, some time, in the turns of `peer`; nobody waits for it. False: the
  // pool refuses, as run() does, and it will not be called.
  bool post(PeerId peer, BlockingReason reason, std::move_only_function<void()> function);

 private:
  friend class BlockingPool;
  const std::shared_ptr<BlockingShares> shares_;
  FairQueue::Group& share_;
};

// Thread-safe. Outlives every job; stop() waits for those running.
class BlockingPool {
 public:
  explicit BlockingPool(const BlockingPoolOptions& options);
  ~BlockingPool();
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  // For what is not of an export: records, names of users.
  [[nodiscard]] BlockingGroup& own() { return *own_; }
  [[nodiscard]] BlockingPoolStats stats() const;
  // Refuses new jobs, runs what is queued and waits for the threads to end. Before the reactors end.
  void stop();

 private:
  friend class BlockingGroup;
  struct JobBase : FairQueue::Item {
    void (*call)(JobBase*) = nullptr;
    Reactor* reactor = nullptr;  // null: nobody waits, and call() ends the job
    std::coroutine_handle<> waiter;
  };
  struct Posted;

  template <class F>
  class Job : private JobBase {
    using T = std::invoke_result_t<F&>;

   public:
    Job(BlockingGroup& group, Reactor& reactor_of_caller, BlockingReason reason, bool for_all, F function)
        : group_(group), reason_(reason), for_all_(for_all), function_(std::move(function)) {
      reactor = &reactor_of_caller;
      call = [](JobBase* self) {
        auto* job = static_cast<Job*>(self);
        job->result_.emplace(job->function_());
      };
    }
    [[nodiscard]] bool await_ready() const { return false; }
    // False (go on at once, without a result) when the pool refuses.
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> handle) {
      waiter = handle;
      return enqueue(this, group_, for_all_ ? PeerId() : handle.promise().peer, reason_);
    }
    std::optional<T> await_resume() { return std::move(result_); }

   private:
    BlockingGroup& group_;
    BlockingReason reason_;
    bool for_all_;
    F function_;
    std::optional<T> result_;
  };

  static bool enqueue(JobBase* job, BlockingGroup& group, PeerId peer, BlockingReason reason);
  // With the lock held.
  bool push(JobBase* job, BlockingGroup& group, PeerId peer, BlockingReason reason);
  // With the lock held: a group has ended.
  void look_again();
  void work();
  [[nodiscard]] bool has_ready() const { return ready_first_ != nullptr; }
  // Moves what may run now; how many jobs that were.
  std::size_t make_ready();
  JobBase* take_ready();
  // As many as there are jobs ready, with those that have nothing to do; `coming` will look by themselves.
  void start_threads(unsigned coming);

  const BlockingPoolOptions options_;
  const std::shared_ptr<BlockingShares> shares_;
  std::condition_variable wake_;   // a job is ready, or stop()
  std::condition_variable ended_;  // the last thread is gone
  // Jobs that run as soon as a thread takes them. Linked by Item::next.
  FairQueue::Item* ready_first_ = nullptr;
  FairQueue::Item* ready_last_ = nullptr;
  std::size_t ready_ = 0;
  unsigned running_ = 0;   // threads alive
  unsigned starting_ = 0;  // of them those that have not looked for a job yet
  unsigned idle_ = 0;      // of them those that wait for one
  bool stopping_ = false;
  BlockingPoolStats stats_;
  std::optional<BlockingGroup> own_;
};

template <class F>
auto BlockingGroup::run(Reactor& reactor, BlockingReason reason, F function) {
  return BlockingPool::Job<F>(*this, reactor, reason, false, std::move(function));
}

template <class F>
auto BlockingGroup::run_for_all(Reactor& reactor, BlockingReason reason, F function) {
  return BlockingPool::Job<F>(*this, reactor, reason, true, std::move(function));
}

}  // namespace braid::io
