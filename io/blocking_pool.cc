#include "io/blocking_pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
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

namespace {

// How much of a peer's turn a job takes: about how long it may take.
std::uint32_t cost_of(BlockingReason reason) {
  switch (reason) {
    case BlockingReason::sync:
      return FairQueue::cost_max;
    case BlockingReason::read:
    case BlockingReason::write:
    case BlockingReason::directory:
      return 4;
    case BlockingReason::metadata:
    case BlockingReason::open:
    case BlockingReason::other:
      return 1;
  }
  return 1;
}

}  // namespace

BlockingGroup::BlockingGroup(BlockingPool& pool, std::string name)
    : shares_(pool.shares_), share_([&]() -> FairQueue::Group& {
        const std::scoped_lock lock(shares_->mutex);
        return shares_->queue.add_group(std::move(name));
      }()) {}

BlockingGroup::~BlockingGroup() {
  const std::scoped_lock lock(shares_->mutex);
  shares_->queue.remove_group(share_);
  if (shares_->pool != nullptr) shares_->pool->look_again();
}

BlockingPool::BlockingPool(const BlockingPoolOptions& options)
    : options_(options),
      shares_(std::make_shared<BlockingShares>(
          FairQueueOptions{.running_max = options.threads_max, .queued_max = options.queue_max})) {
  shares_->pool = this;
  own_.emplace(*this, "server");
}

BlockingPool::~BlockingPool() {
  stop();
  const std::scoped_lock lock(shares_->mutex);
  shares_->pool = nullptr;
}

struct BlockingPool::Posted : JobBase {
  explicit Posted(std::move_only_function<void()> work) : function(std::move(work)) {
    call = [](JobBase* self) {
      const std::unique_ptr<Posted> posted(static_cast<Posted*>(self));
      posted->function();
    };
  }
  std::move_only_function<void()> function;
};

bool BlockingGroup::post(PeerId peer, BlockingReason reason, std::move_only_function<void()> function) {
  auto job = std::make_unique<BlockingPool::Posted>(std::move(function));
  if (!BlockingPool::enqueue(job.get(), *this, peer, reason)) return false;
  (void)job.release();
  return true;
}

// Others may have more now.
void BlockingPool::look_again() {
  make_ready();
  start_threads(0);
  wake_.notify_all();
}

std::size_t BlockingPool::make_ready() {
  std::size_t made = 0;
  for (; FairQueue::Item* const item = shares_->queue.pop(); ++made) {
    item->next = nullptr;
    (ready_first_ == nullptr ? ready_first_ : ready_last_->next) = item;
    ready_last_ = item;
  }
  ready_ += made;
  return made;
}

BlockingPool::JobBase* BlockingPool::take_ready() {
  FairQueue::Item* const item = ready_first_;
  ready_first_ = item->next;
  --ready_;
  return static_cast<JobBase*>(item);
}

bool BlockingPool::enqueue(JobBase* job, BlockingGroup& group, PeerId peer, BlockingReason reason) {
  const std::scoped_lock lock(group.shares_->mutex);
  BlockingPool* const pool = group.shares_->pool;
  return pool != nullptr && pool->push(job, group, peer, reason);
}

bool BlockingPool::push(JobBase* job, BlockingGroup& group, PeerId peer, BlockingReason reason) {
  job->cost = cost_of(reason);
  if (stopping_ || !shares_->queue.push(*job, group.share_, peer)) {
    ++stats_.refused;
    return false;
  }
  ++stats_.jobs[static_cast<std::size_t>(reason)];
  const bool runs = make_ready() > 0;
  start_threads(0);
  if (runs && idle_ > 0) wake_.notify_one();
  return true;
}

void BlockingPool::start_threads(unsigned coming) {
  for (; idle_ + starting_ + coming < ready_; ++starting_) {
    ++running_;
    std::thread([this] { work(); }).detach();
  }
}

void BlockingPool::work() {
  // Signals are for the main thread.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  pthread_setname_np(pthread_self(), "braid-blocking");
  const std::shared_ptr<BlockingShares> shares = shares_;  // the pool may be gone when the lock is released
  std::unique_lock lock(shares->mutex);
  --starting_;
  for (;;) {
    ++idle_;
    const bool work_came = wake_.wait_for(lock, std::chrono::seconds(options_.idle_seconds),
                                          [this] { return has_ready() || stopping_; });
    --idle_;
    if (!has_ready() && (stopping_ || !work_came)) break;
    JobBase* const job = take_ready();
    lock.unlock();
    FairQueue::Flow& flow = *job->flow;
    const bool beyond = job->beyond;
    Reactor* const reactor = job->reactor;
    job->call(job);
    // The caller's frame, and with it the job, may be gone as soon as it is posted.
    if (reactor != nullptr) reactor->post(job->waiter);
    lock.lock();
    shares_->queue.done(flow, beyond);
    // The first one is for this thread.
    const std::size_t made = make_ready();
    start_threads(1);
    for (std::size_t more = 1; more < made; ++more) wake_.notify_one();
  }
  if (--running_ == 0) ended_.notify_all();
}

BlockingPoolStats BlockingPool::stats() const {
  const std::scoped_lock lock(shares_->mutex);
  BlockingPoolStats out = stats_;
  out.queued = shares_->queue.queued();
  out.threads = running_;
  for (FairQueue::GroupStats& group : shares_->queue.stats()) {
    const auto same = std::ranges::find(out.groups, group.name, &FairQueue::GroupStats::name);
    if (same == out.groups.end()) {
      out.groups.push_back(std::move(group));
      continue;
    }
    same->queued += group.queued;
    same->running += group.running;
    same->refused += group.refused;
  }
  return out;
}

void BlockingPool::stop() {
  std::unique_lock lock(shares_->mutex);
  stopping_ = true;
  wake_.notify_all();
  ended_.wait(lock, [this] { return running_ == 0; });
}

}  // namespace braid::io
