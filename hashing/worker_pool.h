// The CPU's share of the engine: threads that cut and hash.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "hashing/moving_average.h"
#include "hashing/task_queue.h"

namespace braid::hashing {

struct WorkerPoolOptions {
  unsigned threads = 1;                      // the bound on cores used
  std::uint64_t queue_bytes_max = 1U << 28;  // waiting; submit() refuses more
};

// Thread-safe. Outlives every task.
class WorkerPool {
 public:
  WorkerPool(const WorkerPoolOptions& options, const base::Clock& clock);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // False when the queue is full (unless `admitted`: it belongs to a job whose first part was taken) or the
  // pool has stopped: the task is not touched.
  bool submit(Task* task, bool admitted);
  // For a task that was accepted before and came back from a card: always taken, until stop() has returned.
  void redo(Task* task);
  // When a new task of so many bytes would be done, from now.
  [[nodiscard]] base::Duration estimate(std::uint64_t bytes) const;
  // What another thread has done itself, as a measurement for the estimates.
  void measured(std::uint64_t bytes, base::Duration took);
  // Works off what is queued, then ends the threads.
  void stop();

  [[nodiscard]] std::uint64_t queued_bytes() const;

 private:
  void work();
  void learn(std::uint64_t bytes, base::Duration took);

  const WorkerPoolOptions options_;
  const base::Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  TaskQueue queue_;
  std::uint64_t running_bytes_ = 0;
  MovingAverage bytes_per_ns_{2.0};  // of one thread
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace braid::hashing
