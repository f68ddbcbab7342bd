#include "rdma/send_queue.h"

#include <algorithm>

namespace braid::rdma {

void Transmission::completed(WorkStatus status, std::uint32_t) { queue->ended(*this, status); }

void SendQueue::set_up(PostQueue& posts, std::uint32_t room) {
  posts_ = &posts;
  room_ = room_max_ = room;
}

Transmission& SendQueue::begin() {
  if (free_.empty()) {
    free_.push_back(all_.emplace_back(std::make_unique<Transmission>()).get());
    free_.back()->queue = this;
  }
  Transmission& transmission = *free_.back();
  free_.pop_back();
  return transmission;
}

void SendQueue::discard(Transmission& transmission) {
  transmission.chain.clear();
  transmission.message_bytes = 0;
  transmission.answers = false;
  free_.push_back(&transmission);
}

void SendQueue::submit(Transmission& transmission) {
  waiting_.push_back(&transmission);
  run();
}

void SendQueue::abandon() {
  for (Transmission* transmission : std::exchange(waiting_, {})) discard(*transmission);
}

void SendQueue::run() {
  while (!waiting_.empty() && waiting_.front()->chain.size() <= room_) {
    Transmission& next = *waiting_.front();
    waiting_.pop_front();
    posts_->post(next, next.chain.requests());
    room_ -= next.chain.size();
    next.posted_at = clock_.now();
    ++running_;
    posted_.push_back(&next);
  }
  // It would wait for ever.
  if (!waiting_.empty() && waiting_.front()->chain.size() > room_max_)
    user_.on_transmission_failed(WorkStatus::local_error);
}

void SendQueue::ended(Transmission& transmission, WorkStatus status) {
  std::erase(posted_, &transmission);  // the first, as a rule
  room_ += transmission.chain.size();
  --running_;
  transmission.chain.clear();
  user_.on_transmitted(transmission);
  discard(transmission);
  if (status != WorkStatus::success) return user_.on_transmission_failed(status);
  run();
}

std::optional<base::TimePoint> SendQueue::oldest() const {
  if (posted_.empty()) return std::nullopt;
  return posted_.front()->posted_at;
}

}  // namespace braid::rdma
