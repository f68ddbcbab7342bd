// What a connection posts, gathered: one turn of the ready queue brings many replies and reads, and to tell
// the device of them costs as much as to tell it of one (a write over the bus, or a system call where the
// device is software).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "rdma/verbs.h"

namespace braid::rdma {

// Belongs to one thread. Everything is handed over, in order, by an item of the ready queue: behind what is
// ready now, and before the thread sleeps. Destroyed when all works have completed that were posted before
// the connection ended.
class PostQueue {
 public:
  PostQueue() = default;
  ~PostQueue();
  PostQueue(const PostQueue&) = delete;
  PostQueue& operator=(const PostQueue&) = delete;

  void set_up(Endpoint& endpoint) { endpoint_ = &endpoint; }
  // The work and the chain are kept until the work completes. There must be room in the device's queue; what
  // the device refuses completes with local_error, from the ready queue. From there a silent one completes,
  // too, as soon as the device has taken it.
  void post(const Posting& posting);
  // Hands over what there is, now.
  void flush();

 private:
  void run_later();

  Endpoint* endpoint_ = nullptr;
  std::vector<Posting> gathered_;
  std::size_t requests_ = 0;  // of them
  std::vector<Work*> refused_;
  WorkList copied_;         // taken, and silent
  bool scheduled_ = false;  // run_later() is in the ready queue
};

}  // namespace braid::rdma
