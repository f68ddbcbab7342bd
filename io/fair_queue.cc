#include "io/fair_queue.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "base/assert.h"

namespace braid::io {

FairQueue::FairQueue(const FairQueueOptions& options) : options_(options), buckets_(buckets) {}

FairQueue::~FairQueue() = default;

FairQueue::Group& FairQueue::add_group(std::string name) {
  Group& group = idle_.emplace_back(std::move(name));
  group.self_ = std::prev(idle_.end());
  return group;
}

void FairQueue::remove_group(Group& group) {
  base::check(group.queued_ == 0, "a group is removed when nothing of it waits");
  if (group.count_ == 0)
    idle_.erase(group.self_);
  else
    group.removed_ = true;
}

unsigned FairQueue::running_max_of_group() const {
  // The server's own work is a group, too, and needs little.
  const bool alone = waiting_.size() + idle_.size() <= 2;
  return alone ? options_.running_max : options_.running_max - options_.running_max / 4;
}

unsigned FairQueue::beyond_max_of_group() const { return std::max(1U, options_.running_max / 8); }

std::size_t FairQueue::bucket_of(const Group& group, PeerId peer) {
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;  // Knuth, volume 3, 6.4: multiplicative hashing
  constexpr unsigned shift = 64 - 9;
  static_assert(buckets == std::size_t{1} << (64 - shift));
  return ((peer.value() ^ std::hash<const Group*>{}(&group)) * golden) >> shift;
}

FairQueue::Flow* FairQueue::find(const Group& group, PeerId peer) const {
  Flow* flow = buckets_[bucket_of(group, peer)];
  while (flow != nullptr && (flow->peer != peer || flow->group != &group)) flow = flow->next_in_bucket;
  return flow;
}

FairQueue::Flow& FairQueue::make(Group& group, PeerId peer) {
  if (unused_.empty()) {
    unused_.emplace_front();
    unused_.front().self = unused_.begin();
    unused_.front().in = &unused_;
  }
  Flow& flow = unused_.front();
  flow.peer = peer;
  flow.group = &group;
  flow.next_in_bucket = std::exchange(buckets_[bucket_of(group, peer)], &flow);
  return flow;
}

void FairQueue::forget(Flow& flow) {
  Flow** link = &buckets_[bucket_of(*flow.group, flow.peer)];
  while (*link != &flow) link = &(*link)->next_in_bucket;
  *link = flow.next_in_bucket;
  move(flow, unused_);
}

void FairQueue::move(Flow& flow, Flows& to) {
  to.splice(to.end(), *flow.in, flow.self);
  flow.in = &to;
}

bool FairQueue::push(Item& item, Group& group, PeerId peer) {
  base::check(item.cost <= cost_max, "the cost of a job is bounded");
  Flow* flow = find(group, peer);
  // As with dynamic thresholds (rpc/peer_account.h): as many as are left.
  if ((flow == nullptr ? 0 : flow->queued) >= options_.queued_max - queued_) {
    ++group.refused_;
    return false;
  }
  if (flow == nullptr) flow = &make(group, peer);
  item.next = nullptr;
  item.flow = flow;
  if (flow->queued++ == 0) {
    flow->first = &item;
    move(*flow, group.waiting_);
  } else {
    flow->last->next = &item;
  }
  flow->last = &item;
  ++queued_;
  if (group.queued_++ == 0) waiting_.splice(waiting_.end(), idle_, group.self_);
  return true;
}

FairQueue::Item* FairQueue::pop() {
  for (std::size_t left = waiting_.size(); left > 0; --left) {
    Group& group = waiting_.front();
    waiting_.splice(waiting_.end(), waiting_, group.self_);
    if (Item* const item = take(group)) return item;
  }
  return nullptr;
}

FairQueue::Item* FairQueue::take(Group& group) {
  if (running_ < options_.running_max && group.count_ - group.beyond_ < running_max_of_group())
    return take_in_turn(group, false);
  if (group.count_ == 0) return take_in_turn(group, true);
  if (group.beyond_ >= beyond_max_of_group()) return nullptr;
  // Those before it have something running, so they are few.
  const auto none_runs = std::ranges::find(group.waiting_, 0U, &Flow::running);
  return none_runs == group.waiting_.end() ? nullptr : run(*none_runs, true);
}

FairQueue::Item* FairQueue::take_in_turn(Group& group, bool beyond) {
  Flow& flow = group.waiting_.front();
  if (flow.deficit < flow.first->cost) flow.deficit += cost_max;  // its turn begins
  flow.deficit -= flow.first->cost;
  Item* const item = run(flow, beyond);
  if (flow.queued > 0 && flow.deficit < flow.first->cost) move(flow, group.waiting_);  // and is over
  return item;
}

FairQueue::Item* FairQueue::run(Flow& flow, bool beyond) {
  Group& group = *flow.group;
  Item& item = *flow.first;
  flow.first = item.next;
  item.beyond = beyond;
  --queued_;
  if (--group.queued_ == 0) idle_.splice(idle_.end(), waiting_, group.self_);
  if (--flow.queued == 0) {
    flow.deficit = 0;
    move(flow, group.running_);
  }
  ++flow.running;
  ++group.count_;
  ++(beyond ? group.beyond_ : running_);
  return &item;
}

void FairQueue::done(Flow& flow, bool beyond) {
  Group& group = *flow.group;
  --group.count_;
  --(beyond ? group.beyond_ : running_);
  if (--flow.running > 0) return;
  if (flow.queued == 0) forget(flow);
  if (group.removed_ && group.count_ == 0) idle_.erase(group.self_);
}

std::vector<FairQueue::GroupStats> FairQueue::stats() const {
  std::vector<GroupStats> out;
  for (const std::list<Group>* groups : {&waiting_, &idle_})
    for (const Group& group : *groups)
      out.push_back({group.name_, group.queued_, group.count_, group.refused_});
  return out;
}

}  // namespace braid::io
