#include "rdma/ibverbs/completions.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/log.h"

namespace braid::rdma::ibverbs {
namespace {

constexpr unsigned acknowledged_together = 64;
constexpr std::uint32_t polled_together = 64;

WorkStatus status_of(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_SUCCESS:
      return WorkStatus::success;
    case IBV_WC_WR_FLUSH_ERR:
      return WorkStatus::flushed;
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_QP_OP_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
      return WorkStatus::local_error;
    case IBV_WC_REM_ACCESS_ERR:
      return WorkStatus::remote_access;
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_REM_ABORT_ERR:
      return WorkStatus::remote_invalid;
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
      return WorkStatus::unanswered;
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return WorkStatus::not_received;
    default:
      return WorkStatus::fatal;
  }
}

}  // namespace

base::Result<std::unique_ptr<Completions>> Completions::create(io::Reactor& reactor, IbDevice& device,
                                                               std::uint32_t size) {
  std::unique_ptr<Completions> made(new Completions(reactor, device, size));
  if (auto done = made->set_up(); !done) return base::fail(done.error());
  io::spawn(made->gate_, made->run());
  return made;
}

base::Result<void> Completions::set_up() {
  channel_ = ::ibv_create_comp_channel(device_.context());
  if (channel_ == nullptr) return base::fail(base::last_errno());
  if (::fcntl(channel_->fd, F_SETFL, O_NONBLOCK) != 0) return base::fail(base::last_errno());
  queue_ = ::ibv_create_cq(device_.context(), static_cast<int>(size_), nullptr, channel_, 0);
  if (queue_ == nullptr) return base::fail(base::last_errno());
  return {};
}

Completions::~Completions() {
  if (queue_ != nullptr) {
    ::ibv_ack_cq_events(queue_, unacknowledged_);
    ::ibv_destroy_cq(queue_);
  }
  if (channel_ != nullptr) ::ibv_destroy_comp_channel(channel_);
}

bool Completions::reserve(std::uint32_t requests, CompletionsUser& user) {
  if (lost_ || requests > size_ - used_) return false;
  used_ += requests;
  users_.push_back(&user);
  return true;
}

void Completions::release(std::uint32_t requests, CompletionsUser& user) {
  used_ -= requests;
  std::erase(users_, &user);
}

io::Op<> Completions::close() {
  gate_.close();
  reactor_.cancel_fd(channel_->fd);
  co_await gate_.drained();
}

int Completions::poll() {
  std::array<ibv_wc, polled_together> completed;
  const int count = ::ibv_poll_cq(queue_, static_cast<int>(completed.size()), completed.data());
  for (int i = 0; i < count; ++i) take(completed.at(static_cast<std::size_t>(i)));
  return count;
}

void Completions::take(const ibv_wc& completed) {
  const WorkStatus status = status_of(completed.status);
  if (completed.wr_id == silent_number) return take_silent(completed.qp_num, status);
  auto& work = *reinterpret_cast<Work*>(completed.wr_id & ~chained_bit);
  if ((completed.wr_id & chained_bit) != 0)
    work.failed(status);
  else
    work.finish(status, status == WorkStatus::success ? completed.byte_len : 0);
}

void Completions::take_silent(std::uint32_t queue_pair, WorkStatus status) {
  // One that is flushed was not the first to fail. The queue pair may be gone: nobody waits for these.
  if (status == WorkStatus::success || status == WorkStatus::flushed) return;
  const auto found =
      std::ranges::find_if(users_, [&](const auto* user) { return user->has_queue_pair(queue_pair); });
  if (found != users_.end()) (*found)->on_silent_failed(status);
}

void Completions::take_all() {
  // Callbacks may post more, but no more than the queue holds has completed by now.
  for (std::uint32_t looks = 0; looks <= size_ / polled_together && poll() > 0; ++looks) {
  }
}

void Completions::take_event() {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  // Mostly there is only one; should there be another, the channel is still readable the next time.
  if (::ibv_get_cq_event(channel_, &queue, &context) == 0) ++unacknowledged_;
  if (unacknowledged_ < acknowledged_together) return;
  ::ibv_ack_cq_events(queue_, unacknowledged_);
  unacknowledged_ = 0;
}

void Completions::lose() {
  lost_ = true;
  base::log_event(base::Level::error, "rdma_completions_lost", "device={} connections={}", device_.name(),
                  users_.size());
  for (CompletionsUser* user : users_) user->on_completions_lost();
}

io::Op<> Completions::run() {
  while (!gate_.closed()) {
    if (const int count = poll(); count != 0) {
      if (count < 0) co_return lose();
      co_await reactor_.yield();
      continue;
    }
    // What completes after this makes an event; what completed before it is found by another look.
    if (::ibv_req_notify_cq(queue_, 0) != 0) co_return lose();
    if (poll() != 0) continue;
    (void)co_await reactor_.readable(channel_->fd);
    take_event();
  }
}

}  // namespace braid::rdma::ibverbs
