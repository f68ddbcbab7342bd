#include "io/fair_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

namespace braid::io {
namespace {

constexpr PeerId flooder{1};
constexpr PeerId victim{2};

// Jobs of one letter for each peer and group; what runs is told in the order in which it began.
class FairQueueTest : public testing::Test {
 protected:
  struct Job : FairQueue::Item {
    char name = 0;
  };
  bool push(FairQueue& queue, FairQueue::Group& group, PeerId peer, char name, std::uint32_t cost = 1) {
    Job& job = jobs_.emplace_back();
    job.name = name;
    job.cost = cost;
    return queue.push(job, group, peer);
  }
  int push_many(FairQueue& queue, FairQueue::Group& group, PeerId peer, char name, int count,
                std::uint32_t cost = 1) {
    int taken = 0;
    for (int i = 0; i < count; ++i) taken += push(queue, group, peer, name, cost) ? 1 : 0;
    return taken;
  }
  // Takes all that may run now.
  std::string begin(FairQueue& queue) {
    std::string names;
    while (FairQueue::Item* const item = queue.pop()) {
      running_.push_back(static_cast<Job*>(item));
      names += running_.back()->name;
    }
    return names;
  }
  // Ends the job that has run longest, and takes those that may run then.
  std::string end_one(FairQueue& queue) {
    Job* const job = running_.front();
    running_.pop_front();
    queue.done(*job->flow, job->beyond);
    return begin(queue);
  }
  void end_all(FairQueue& queue) {
    while (!running_.empty()) end_one(queue);
  }

  std::deque<Job> jobs_;
  std::deque<Job*> running_;
};

TEST_F(FairQueueTest, a_peer_with_one_job_comes_after_one_turn_of_a_peer_with_many) {
  FairQueue queue({.running_max = 1});
  FairQueue::Group& group = queue.add_group("/");
  push_many(queue, group, flooder, 'f', 100, FairQueue::cost_max);
  EXPECT_EQ(begin(queue), "f");
  push(queue, group, victim, 'v');
  EXPECT_NE((end_one(queue) + end_one(queue)).find('v'), std::string::npos);
  end_all(queue);
}

TEST_F(FairQueueTest, turns_are_measured_by_what_jobs_cost) {
  FairQueue queue({.running_max = 2});
  FairQueue::Group& group = queue.add_group("/");
  // Two jobs that never end leave one at a time to the others.
  push(queue, group, PeerId(8), 'h');
  push(queue, group, flooder, 'f', FairQueue::cost_max);
  push(queue, group, PeerId(9), 'h');
  EXPECT_EQ(begin(queue), "hfh");
  std::swap(running_[0], running_[1]);
  push_many(queue, group, flooder, 'f', 10, FairQueue::cost_max);
  push_many(queue, group, victim, 'v', 160, 1);
  std::string order;
  while (order.size() < 34) {
    order += end_one(queue);
    std::ranges::rotate(running_, running_.end() - 1);
  }
  EXPECT_EQ(std::ranges::count(order, 'f'), 2);
  EXPECT_EQ(std::ranges::count(order, 'v'), 32);
  end_all(queue);
}

TEST_F(FairQueueTest, a_group_whose_jobs_do_not_end_leaves_threads_to_another) {
  FairQueue queue({.running_max = 16});
  FairQueue::Group& own = queue.add_group("server");
  FairQueue::Group& stalled = queue.add_group("/stalled");
  FairQueue::Group& other = queue.add_group("/other");
  push_many(queue, stalled, flooder, 'f', 100);
  EXPECT_EQ(begin(queue).size(), 12U);
  push_many(queue, other, flooder, 'o', 100);
  EXPECT_EQ(begin(queue).size(), 4U);
  push(queue, own, PeerId(), 's');
  EXPECT_EQ(begin(queue), "s") << "a group that has none running gets one";
  push(queue, stalled, victim, 'v');
  EXPECT_EQ(begin(queue), "v") << "and a peer that has none running in it";
  end_all(queue);
}

TEST_F(FairQueueTest, peers_without_a_job_running_get_few_beyond_what_their_group_may_have) {
  FairQueue queue({.running_max = 16});
  (void)queue.add_group("server");
  FairQueue::Group& group = queue.add_group("/");
  push_many(queue, group, flooder, 'f', 20);
  EXPECT_EQ(begin(queue).size(), 16U) << "the only export needs not leave anything";
  for (std::uint64_t peer = 10; peer < 20; ++peer) push(queue, group, PeerId(peer), 'p');
  EXPECT_EQ(begin(queue), "pp");
  end_all(queue);
}

TEST_F(FairQueueTest, who_fills_the_queue_leaves_half_of_it) {
  FairQueue queue({.running_max = 1, .queued_max = 100});
  FairQueue::Group& group = queue.add_group("/");
  EXPECT_EQ(push_many(queue, group, flooder, 'f', 200), 50);
  EXPECT_EQ(push_many(queue, group, victim, 'v', 200), 25);
  EXPECT_TRUE(push(queue, group, PeerId(3), 'n'));
  EXPECT_EQ(queue.stats().at(0).refused, 150U + 175U);
  begin(queue);
  end_all(queue);
  EXPECT_EQ(queue.queued(), 0U);
  EXPECT_EQ(push_many(queue, group, flooder, 'f', 50), 50);
  begin(queue);
  end_all(queue);
}

TEST_F(FairQueueTest, a_peer_whose_jobs_wait_for_one_export_has_room_for_those_of_another) {
  FairQueue queue({.running_max = 1, .queued_max = 100});
  FairQueue::Group& stalled = queue.add_group("/stalled");
  FairQueue::Group& other = queue.add_group("/other");
  push_many(queue, stalled, flooder, 'f', 200);
  EXPECT_EQ(push_many(queue, other, flooder, 'o', 10), 10);
  begin(queue);
  end_all(queue);
}

TEST_F(FairQueueTest, a_group_may_be_removed_while_the_last_job_is_ending) {
  FairQueue queue({.running_max = 1});
  FairQueue::Group& group = queue.add_group("/");
  push(queue, group, victim, 'v');
  begin(queue);
  queue.remove_group(group);
  EXPECT_EQ(queue.stats().size(), 1U);
  end_all(queue);
  EXPECT_TRUE(queue.stats().empty());
}

}  // namespace
}  // namespace braid::io
