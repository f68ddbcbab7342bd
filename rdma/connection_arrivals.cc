// The part of RdmaConnection that takes what has arrived, in the turns of its address.
#include <algorithm>
#include <utility>

#include "rdma/connection.h"
#include "rdma/worker.h"

namespace braid::rdma {

void RdmaConnection::process(base::TimePoint now) {
  if (waits_for_turn_) return;
  for (bool worked = false; state_ == State::open && (!read_calls_.empty() || may_take()); worked = true) {
    if (worked) now = worker_.reactor_.clock().now();
    if (!worker_.turns_.admits(turn_, now)) {
      // Others of its address come first.
      if (worked) worker_.turns_.end(turn_);
      return wait_for_turn();
    }
    if (!read_calls_.empty()) {
      take_read_calls();
      continue;
    }
    Arrival arrival = std::move(inbox_.front());
    inbox_.pop_front();
    take(std::move(arrival));
  }
  worker_.turns_.end(turn_);
}

bool RdmaConnection::may_take() {
  // What the peer does not acknowledge takes memory too. A peer that keeps to its credits may be ahead of
  // the completions of our Sends, so it waits; another one's calls will soon be too many.
  return !worker_.draining_ && !inbox_.empty() && receiver_->ready(*this) &&
         answers_out_ < worker_.options_.credits;
}

// It was let in when it was taken, so it goes on whether or not the receiver is ready for another one.
void RdmaConnection::take_read_calls() {
  CallState& call = *read_calls_.front();
  read_calls_.pop_front();
  read_queue_.taken(call);
  deliver(call);
  if (state_ == State::open) read_queue_.run();
}

void RdmaConnection::wait_for_turn() {
  waits_for_turn_ = true;
  worker_.turns_.wait(turn_, {[](void* self) { static_cast<RdmaConnection*>(self)->take_turn(); }, this});
}

void RdmaConnection::take_turn() {
  waits_for_turn_ = false;
  process(worker_.reactor_.clock().now());
  end_if_drained();
}

void RdmaConnection::take(Arrival arrival) {
  xdr::Arena arena;
  Header header;
  switch (decode_header(arrival.message, arena, header)) {
    case HeaderVerdict::message:
      return take_message(header, std::move(arrival));
    case HeaderVerdict::err_vers:
      return send_error(header.xid, header.version, rpc_rdma_errcode::ERR_VERS);
    case HeaderVerdict::err_chunk:
      return send_error(header.xid, header.version, rpc_rdma_errcode::ERR_CHUNK);
    case HeaderVerdict::error:
      // Of a call of ours, which then times out.
      worker_.metrics_.errors_received.add();
      return end_back_call();
    case HeaderVerdict::ignored:
      // Dropped, but no other answer will come to that call.
      if (header.proc == rdma_proc::RDMA_ERROR) end_back_call();
      return;
  }
}

void RdmaConnection::take_message(const Header& header, Arrival arrival) {
  if (header.proc == rdma_proc::RDMA_MSG && message_start(arrival.message, header.body).is_reply)
    take_reply(header, std::move(arrival));
  else
    take_call(header, std::move(arrival));
}

void RdmaConnection::take_reply(const Header& header, Arrival arrival) {
  // RFC 8166 section 3.3.1: a grant of nothing would be for ever.
  back_window_ = std::clamp(header.credits, 1U, worker_.options_.back_credits);
  io::Payload message = std::move(arrival.message);
  message.drop_front(header.body);
  // RFC 8166 section 4.5: a reply that is wrong is dropped.
  if (message_start(message, 0).xid == header.xid)
    receiver_->on_message(*this, std::move(message), arrival.at);
  end_back_call();
}

void RdmaConnection::end_back_call() {
  back_out_ -= std::min(back_out_, 1U);
  run_back_calls();
}

void RdmaConnection::take_call(const Header& header, Arrival arrival) {
  if (running_calls_ == worker_.options_.credits) return fail(worker_.metrics_.closed_credits, "credits");
  CallState& call = begin_call(header.xid, arrival.at);
  const ChunkLimits limits{.read_bytes_max = readable_ ? worker_.options_.message_bytes_max : 0};
  const bool inline_call = header.proc == rdma_proc::RDMA_MSG;
  // RFC 8166 section 3.5: either the message is inline, or it is in the chunk at position zero.
  if (call.lists.parse(header.lists, limits) || inline_call == call.lists.call().has_value()) {
    send_error(header.xid, RPCRDMA_VERSION, rpc_rdma_errcode::ERR_CHUNK);
    return end_call(call);
  }
  if (inline_call) {
    call.rest = std::move(arrival.message);
    call.rest.drop_front(header.body);
  }
  if (call.lists.read_bytes() == 0) return deliver(call);
  call.chunks = &call.lists;
  read_queue_.add(call);
}

}  // namespace braid::rdma
