#include "hashing/worker_pool.h"

#include <pthread.h>
#include <signal.h>

#include "hashing/cpu_hasher.h"

namespace braid::hashing {
namespace {

constexpr std::uint64_t measured_bytes_min = 64 * base::KiB;

}  // namespace

WorkerPool::WorkerPool(const WorkerPoolOptions& options, const base::Clock& clock)
    : options_(options), clock_(clock) {
  for (unsigned i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { work(); });
}

WorkerPool::~WorkerPool() { stop(); }

bool WorkerPool::submit(Task* task, bool admitted) {
  {
    std::scoped_lock lock(mutex_);
    // A queue that is empty takes any task, so that nothing is refused for ever.
    const bool full = !admitted && !queue_.empty() && queue_.bytes() + task->bytes > options_.queue_bytes_max;
    if (stopping_ || threads_.empty() || full) return false;
    queue_.push(task);
  }
  wake_.notify_one();
  return true;
}

void WorkerPool::redo(Task* task) {
  {
    std::scoped_lock lock(mutex_);
    queue_.push(task);
  }
  wake_.notify_one();
}

base::Duration WorkerPool::estimate(std::uint64_t bytes) const {
  std::scoped_lock lock(mutex_);
  const auto ahead =
      static_cast<double>(queue_.bytes() + running_bytes_) / static_cast<double>(options_.threads);
  return base::Duration(
      static_cast<base::Duration::rep>((ahead + static_cast<double>(bytes)) / bytes_per_ns_.value()));
}

std::uint64_t WorkerPool::queued_bytes() const {
  std::scoped_lock lock(mutex_);
  return queue_.bytes();
}

void WorkerPool::work() {
  // Signals are for the main thread.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  pthread_setname_np(pthread_self(), "braid-hash");
  CpuHasher hasher(clock_);
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return !queue_.empty() || stopping_; });
    Task* task = queue_.pop();
    if (task == nullptr) return;
    const std::uint64_t bytes = task->bytes;
    running_bytes_ += bytes;
    lock.unlock();
    const base::TimePoint start = clock_.now();
    task->result = hasher.run_until(task->job, task->known);
    const base::TimePoint end = clock_.now();
    if (task->result) {
      task->result->choice.where = Where::worker;
      task->result->timings.queued = start - task->submitted;
    }
    task->complete();
    lock.lock();
    running_bytes_ -= bytes;
    learn(bytes, end - start);
  }
}

void WorkerPool::learn(std::uint64_t bytes, base::Duration took) {
  if (bytes >= measured_bytes_min && took > base::Duration::zero())
    bytes_per_ns_.add(static_cast<double>(bytes) / static_cast<double>(took.count()));
}

void WorkerPool::measured(std::uint64_t bytes, base::Duration took) {
  std::scoped_lock lock(mutex_);
  learn(bytes, took);
}

void WorkerPool::stop() {
  {
    std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace braid::hashing
