#include "io/blocking_pool.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>

namespace braid::io {

std::string_view name_of(BlockingReason reason) {
  switch (reason) {
    case BlockingReason::read:
      return "read";
    case BlockingReason::write:
      return "write";
    case BlockingReason::sync:
      return "sync";
    case BlockingReason::metadata:
      return "metadata";
    case BlockingReason::directory:
      return "directory";
    case BlockingReason::open:
      return "open";
    case BlockingReason::other:
      return "other";
  }
  return "other";
}

BlockingPool::BlockingPool(const BlockingPoolOptions& options) : options_(options) {}

BlockingPool::~BlockingPool() { stop(); }

bool BlockingPool::enqueue(JobBase* job, BlockingReason reason) {
  std::unique_lock lock(mutex_);
  if (stopping_ || queue_.size() >= options_.queue_max) {
    ++stats_.refused;
    return false;
  }
  ++stats_.jobs[static_cast<std::size_t>(reason)];
  queue_.push_back(job);
  if (idle_ >= queue_.size()) {
    lock.unlock();
    wake_.notify_one();
    return true;
  }
  if (running_ < options_.threads_max) {
    ++running_;
    std::thread([this] { work(); }).detach();
  }
  return true;
}

void BlockingPool::work() {
  // Signals are for the main thread.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  pthread_setname_np(pthread_self(), "braid-blocking");
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    const bool work_came = wake_.wait_for(lock, std::chrono::seconds(options_.idle_seconds),
                                          [this] { return !queue_.empty() || stopping_; });
    --idle_;
    if (queue_.empty() && (stopping_ || !work_came)) break;
    JobBase* job = queue_.front();
    queue_.pop_front();
    lock.unlock();
    job->call(job);
    // The caller's frame, and with it the job, may be gone as soon as it is posted.
    Reactor& reactor = *job->reactor;
    reactor.post(job->waiter);
    lock.lock();
  }
  if (--running_ == 0) ended_.notify_all();
}

BlockingPoolStats BlockingPool::stats() const {
  std::scoped_lock lock(mutex_);
  BlockingPoolStats out = stats_;
  out.queued = queue_.size();
  out.threads = running_;
  return out;
}

void BlockingPool::stop() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  wake_.notify_all();
  ended_.wait(lock, [this] { return running_ == 0; });
}

}  // namespace braid::io
