// Which of the jobs that wait for a thread is next: a share for each peer, and for each group (an export) of
// what jobs need.
//
// Peers take turns by deficit round robin (Shreedhar and Varghese, "Efficient fair queuing using deficit
// round-robin", 1995), groups by plain round robin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "io/peer_id.h"

namespace braid::io {

struct FairQueueOptions {
  unsigned running_max = 16;
  std::size_t queued_max = 4096;
};

// What becomes of jobs is known to their owner; this only orders them, and allocates for more peers at a time
// than there ever were. Not thread-safe.
class FairQueue {
 public:
  struct Flow;
  class Group;

  // Part of a job; in the queue from push() until pop() returns it.
  struct Item {
    Item* next = nullptr;
    Flow* flow = nullptr;  // from push() until done()
    std::uint32_t cost = 1;
    bool beyond = false;  // runs beyond running_max, or beyond what its group may have otherwise
  };

  static constexpr std::uint32_t cost_max = 16;

  explicit FairQueue(const FairQueueOptions& options);
  ~FairQueue();
  FairQueue(const FairQueue&) = delete;
  FairQueue& operator=(const FairQueue&) = delete;

  [[nodiscard]] Group& add_group(std::string name);
  // Of which nothing waits. What still runs may have ended for its caller, and done() is yet to come.
  void remove_group(Group& group);

  // False: the peer has as many jobs waiting in this group as there is room for others. `item.cost` is at
  // most cost_max.
  bool push(Item& item, Group& group, PeerId peer);
  // The next one that may run now; it runs until done(). Null: none may.
  Item* pop();
  // What the item said while it ran: it may be gone.
  void done(Flow& flow, bool beyond);

  [[nodiscard]] std::size_t queued() const { return queued_; }
  // Jobs that one group may have running, so that there is room for others; the only one needs not leave any.
  // Beyond it, and beyond running_max, a group may have a few for peers that have none running there, and one
  // if it has none.
  [[nodiscard]] unsigned running_max_of_group() const;
  [[nodiscard]] unsigned beyond_max_of_group() const;

  struct GroupStats {
    std::string name;
    std::size_t queued = 0;
    unsigned running = 0;
    std::uint64_t refused = 0;
  };
  [[nodiscard]] std::vector<GroupStats> stats() const;

 private:
  using Flows = std::list<Flow>;
  static constexpr std::size_t buckets = 512;

  [[nodiscard]] static std::size_t bucket_of(const Group& group, PeerId peer);
  [[nodiscard]] Flow* find(const Group& group, PeerId peer) const;
  Flow& make(Group& group, PeerId peer);
  void forget(Flow& flow);
  static void move(Flow& flow, Flows& to);
  [[nodiscard]] Item* take(Group& group);
  [[nodiscard]] Item* take_in_turn(Group& group, bool beyond);
  [[nodiscard]] Item* run(Flow& flow, bool beyond);

  const FairQueueOptions options_;
  std::list<Group> waiting_;  // the first one is next
  std::list<Group> idle_;     // nothing of theirs waits
  Flows unused_;
  std::vector<Flow*> buckets_;
  std::size_t queued_ = 0;
  unsigned running_ = 0;  // not beyond
};

// Of one peer in one group, as long as something of it waits or runs.
struct FairQueue::Flow {
  PeerId peer{};
  Group* group = nullptr;
  Flow* next_in_bucket = nullptr;
  Flows* in = nullptr;  // which has it at `self`
  Flows::iterator self{};
  Item* first = nullptr;
  Item* last = nullptr;
  std::size_t queued = 0;
  unsigned running = 0;
  std::uint32_t deficit = 0;
};

class FairQueue::Group {
 public:
  explicit Group(std::string name) : name_(std::move(name)) {}
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

 private:
  friend class FairQueue;
  const std::string name_;
  std::list<Group>::iterator self_{};
  Flows waiting_;  // something of theirs waits; the first one's turn it is
  Flows running_;  // nothing waits
  std::size_t queued_ = 0;
  unsigned count_ = 0;   // that run
  unsigned beyond_ = 0;  // of these
  bool removed_ = false;
  std::uint64_t refused_ = 0;
};

}  // namespace braid::io
