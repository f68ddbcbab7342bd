#include "rdma/send_queue.h"

#include <algorithm>

namespace braid::rdma {

void Transmission::completed(WorkStatus status, std::uint32_t) { queue->ended(*this, status); }

void SendQueue::set_up(PostQueue& posts, std::uint32_t room, std::uint32_t copied_max) {
  posts_ = &posts;
  room_ = room_max_ = room;
  copied_max_ = copied_max;
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
    next.silent = may_be_silent(next.chain);
    posts_->post({&next, next.chain.requests(), next.silent});
    ++running_;
    if (next.silent) {
      ++silent_;
      ++silent_last_;
      continue;
    }
    room_ -= next.chain.size();
    next.behind = std::exchange(silent_last_, 0);
    next.posted_at = clock_.recently();
    posted_.push_back(&next);
  }
  // It would wait for ever.
  if (!waiting_.empty() && waiting_.front()->chain.size() > room_max_)
    user_.on_transmission_failed(WorkStatus::local_error);
}

bool SendQueue::may_be_silent(const Chain& chain) const {
  if (copied_max_ == 0 || silent_ == silent_room) return false;
  const auto bytes = chain.lone_send_bytes();
  return bytes && *bytes <= copied_max_;
}

void SendQueue::ended(Transmission& transmission, WorkStatus status) {
  --running_;
  if (!transmission.silent) {
    std::erase(posted_, &transmission);  // the first, as a rule
    room_ += transmission.chain.size();
    silent_ -= transmission.behind;
  }
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
