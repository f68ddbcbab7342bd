#include "rdma/ibverbs/completions.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace braid::rdma::ibverbs {
namespace {

constexpr std::uint32_t size_min = 2048;
constexpr unsigned acknowledged_together = 64;

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

base::Result<std::unique_ptr<Completions>> Completions::create(io::Reactor& reactor, IbDevice& device) {
  std::unique_ptr<Completions> made(new Completions(reactor, device));
  if (auto done = made->set_up(); !done) return base::fail(done.error());
  io::spawn(made->gate_, made->run());
  return made;
}

base::Result<void> Completions::set_up() {
  channel_ = ::ibv_create_comp_channel(device_.context());
  if (channel_ == nullptr) return base::fail(base::last_errno());
  if (::fcntl(channel_->fd, F_SETFL, O_NONBLOCK) != 0) return base::fail(base::last_errno());
  size_ = std::min(size_min, static_cast<std::uint32_t>(device_.completions_max()));
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

base::Result<void> Completions::reserve(std::uint32_t requests) {
  const auto most = static_cast<std::uint32_t>(device_.completions_max());
  if (requests > most - used_) return base::fail(ENOSPC);
  if (used_ + requests > size_) {
    const std::uint32_t larger = std::min(most, std::max(used_ + requests, size_ * 2));
    if (const int error = ::ibv_resize_cq(queue_, static_cast<int>(larger)); error != 0)
      return base::fail(error);
    size_ = larger;
  }
  used_ += requests;
  return {};
}

io::Op<> Completions::close() {
  gate_.close();
  reactor_.cancel_fd(channel_->fd);
  co_await gate_.drained();
}

bool Completions::poll() {
  std::array<ibv_wc, 64> completed;
  const int count = ::ibv_poll_cq(queue_, static_cast<int>(completed.size()), completed.data());
  for (int i = 0; i < count; ++i) {
    const ibv_wc& one = completed.at(static_cast<std::size_t>(i));
    auto& work = *reinterpret_cast<Work*>(one.wr_id & ~chained_bit);
    if ((one.wr_id & chained_bit) != 0)
      work.failed(status_of(one.status));
    else
      work.finish(status_of(one.status), one.status == IBV_WC_SUCCESS ? one.byte_len : 0);
  }
  return count > 0;
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

io::Op<> Completions::run() {
  while (!gate_.closed()) {
    if (poll()) {
      co_await reactor_.yield();
      continue;
    }
    // What completes after this makes an event; what completed before it is found by another look.
    if (::ibv_req_notify_cq(queue_, 0) != 0) break;
    if (poll()) continue;
    (void)co_await reactor_.readable(channel_->fd);
    take_event();
  }
}

}  // namespace braid::rdma::ibverbs
