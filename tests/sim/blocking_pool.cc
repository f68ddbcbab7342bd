// io::BlockingPool for a simulation: this file takes the place of io/blocking_pool.cc in the program. A job
// runs after some virtual time on the only thread there is.
#include "io/blocking_pool.h"

#include <chrono>

#include "tests/sim/machine.h"

namespace braid::io {

std::string_view name_of(BlockingReason /*reason*/) { return "simulated"; }

BlockingGroup::BlockingGroup(BlockingPool& pool, std::string name)
    : shares_(pool.shares_), share_(shares_->queue.add_group(std::move(name))) {}
BlockingGroup::~BlockingGroup() { shares_->queue.remove_group(share_); }

BlockingPool::BlockingPool(const BlockingPoolOptions& options)
    : options_(options), shares_(std::make_shared<BlockingShares>(FairQueueOptions{})) {
  shares_->pool = this;
  own_.emplace(*this, "server");
}
BlockingPool::~BlockingPool() = default;

bool BlockingPool::enqueue(JobBase* job, BlockingGroup& group, PeerId peer, BlockingReason reason) {
  return group.shares_->pool->push(job, group, peer, reason);
}

bool BlockingPool::push(JobBase* job, BlockingGroup& /*group*/, PeerId /*peer*/, BlockingReason reason) {
  sim::Machine& machine = *sim::Machine::current();
  ++stats_.jobs[static_cast<std::size_t>(reason)];
  ++running_;
  const base::Duration delay =
      machine.delays.between(std::chrono::microseconds(50), std::chrono::milliseconds(20));
  machine.scheduler.after(delay, [this, job] {
    --running_;
    job->call(job);
    job->reactor->post(job->waiter);
  });
  return true;
}

BlockingPoolStats BlockingPool::stats() const {
  BlockingPoolStats out = stats_;
  out.threads = running_;
  return out;
}

void BlockingPool::stop() {}

}  // namespace braid::io
