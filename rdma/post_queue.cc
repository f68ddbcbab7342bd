#include "rdma/post_queue.h"

#include <utility>

#include "base/assert.h"
#include "io/ready_queue.h"

namespace braid::rdma {
namespace {

// Requests that are worth telling the device of while the turn goes on: it may begin with them.
constexpr std::size_t together_max = 32;

}  // namespace

PostQueue::~PostQueue() {
  base::check(!scheduled_, "what was gathered is handed over before its connection ends");
}

void PostQueue::post(const Posting& posting) {
  gathered_.push_back(posting);
  requests_ += posting.chain.size();
  if (!std::exchange(scheduled_, true))
    io::ReadyQueue::current().push({[](void* self) { static_cast<PostQueue*>(self)->run_later(); }, this});
  if (requests_ >= together_max) flush();
}

void PostQueue::flush() {
  if (gathered_.empty()) return;
  const std::size_t taken = endpoint_->post(gathered_);
  for (std::size_t i = 0; i < taken; ++i)
    if (gathered_[i].silent) copied_.add(*gathered_[i].work);
  for (std::size_t i = taken; i < gathered_.size(); ++i) refused_.push_back(gathered_[i].work);
  gathered_.clear();
  requests_ = 0;
}

void PostQueue::run_later() {
  scheduled_ = false;
  flush();
  copied_.finish_all(WorkStatus::success);
  // The last one's completion may be the end of this queue.
  for (Work* work : std::exchange(refused_, {})) work->finish(WorkStatus::local_error, 0);
}

}  // namespace braid::rdma
