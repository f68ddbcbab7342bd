#include "io/ready_queue.h"

#include "base/assert.h"

namespace braid::io {
namespace {
// Where the thread runs its continuations is a property of the thread, not of a request.
thread_local ReadyQueue* current_queue = nullptr;
}  // namespace

ReadyQueue::~ReadyQueue() {
  if (current_queue == this) current_queue = nullptr;
}

ReadyQueue& ReadyQueue::current() {
  base::check(current_queue != nullptr, "coroutines run on a thread with a ReadyQueue");
  return *current_queue;
}

void ReadyQueue::make_current(ReadyQueue* queue) { current_queue = queue; }

std::size_t ReadyQueue::run(std::size_t budget) {
  std::size_t ran = 0;
  while (ran < budget && head_ < items_.size()) {
    ReadyItem item = items_[head_++];
    if (head_ == items_.size()) {
      items_.clear();
      head_ = 0;
    }
    item.run(item.argument);
    ++ran;
  }
  return ran;
}

}  // namespace braid::io
