#include "rdma/client_connection.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "io/ready_queue.h"
#include "rdma/buffers.h"
#include "rdma/connector.h"
#include "rdma/private_data.h"

namespace braid::rdma {

ClientConnection::ClientConnection(RdmaConnector& connector, const rpc::PeerAddress& peer)
    : connector_(connector),
      peer_(peer),
      begun_at_(connector.reactor_.clock().now()),
      receives_(connector.pool_, connector.options_.credits, connector.options_.inline_bytes, *this),
      sends_(connector.reactor_.clock(), *this) {}

ClientConnection::~ClientConnection() {
  base::check(!endpoint_ || state_ == State::ended, "a connection ends before it is destroyed");
}

base::Result<void> ClientConnection::begin() {
  const std::uint32_t credits = connector_.options_.credits;
  // A call and its Send are one request.
  auto endpoint = connector_.verbs_.connect(peer_, {.receives = credits, .requests = credits}, *this);
  if (!endpoint) return base::fail(endpoint.error());
  endpoint_ = std::move(*endpoint);
  return {};
}

void ClientConnection::on_resolved() {
  if (state_ == State::starting && !set_up()) disconnect();
}

base::Result<void> ClientConnection::set_up() {
  const RdmaClientOptions& options = connector_.options_;
  Device& device = endpoint_->device();
  auto map = connector_.maps_.of(device);
  if (!map) return base::fail(map.error());
  map_ = *map;
  pieces_max_ = device.limits().pieces_max;
  posts_.set_up(*endpoint_);
  sends_.set_up(posts_, options.credits, 0);
  if (!refill() && receives_.posted() == 0) return base::fail(ENOBUFS);
  const auto ours =
      encode(PrivateData{options.inline_bytes, options.inline_bytes, device.limits().invalidation});
  const std::uint32_t reads = std::min(options.reads_max, device.limits().reads_max);
  return endpoint_->start({.private_data = ours, .reads_out = 0, .reads_in = reads});
}

void ClientConnection::on_established(const ConnectParameters& peer) {
  if (state_ != State::starting) return;
  const PrivateData theirs = decode_private_data(peer.private_data);
  const RdmaClientOptions& options = connector_.options_;
  limits_ = {.send_bytes = std::min(options.inline_bytes, theirs.receive_bytes),
             .receive_bytes = std::min(options.inline_bytes, theirs.send_bytes),
             .segment_bytes_max = options.segment_bytes_max};
  state_ = State::open;
  connector_.wake(*this);
}

void ClientConnection::hand_over(rpc::Client* client) {
  awaited_ = false;
  receiver_ = client;
  if (client != nullptr) client->attach(*this);
  schedule();
}

void ClientConnection::call(xdr::Message message, const rpc::ReplyRoom& room) {
  if (state_ != State::open) return;
  const std::uint32_t xid = message_start(message.bytes, 0).xid;
  waiting_.push_back({xid, std::move(message), room});
  run_calls();
}

// A reply needs a receive, so there are never more calls than receives, whatever the server grants.
void ClientConnection::run_calls() {
  while (state_ == State::open && !waiting_.empty() &&
         running_.size() < std::min(granted_, receives_.posted())) {
    const Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    auto running = std::make_unique<Running>();
    Transmission& out = sends_.begin();
    out.message_bytes = next.message.bytes.size();
    const auto started = start(next, *running, out.chain);
    if (!started || !running_.try_emplace(next.xid, std::move(running)).second) {
      sends_.discard(out);
      const bool memory = !started && started.error() != base::errno_of(EMSGSIZE);
      fail_later(next.xid, memory ? rpc::CallError::no_memory : rpc::CallError::refused);
      continue;
    }
    sends_.submit(out);
  }
}

base::Result<void> ClientConnection::start(const Waiting& waiting, Running& running, Chain& out) {
  auto plan = plan_call(waiting.message, waiting.room, limits_, connector_.cursor_);
  if (!plan) return base::fail(plan.error());
  running.chunks = std::move(plan->chunks);
  if (auto offered = offer(running); !offered) return offered;
  xdr::Encoder header(connector_.cursor_);
  encode_call_header(header, waiting.xid, connector_.options_.credits, plan->proc, running.chunks);
  if (!header.ok()) return base::fail(ENOBUFS);
  const io::Payload whole = join(connector_.cursor_, header.finish().bytes, plan->inline_part, pieces_max_);
  if (whole.empty()) return base::fail(ENOBUFS);
  out.send(Opcode::send, whole, {}, *map_);
  return {};
}

base::Result<void> ClientConnection::offer(Running& running) {
  const auto one = [&](OfferedChunk& chunk, Access access) {
    return running.exposure.offer(endpoint_->device(), chunk.memory, access, limits_.segment_bytes_max,
                                  chunk.segments);
  };
  for (OfferedChunk& chunk : running.chunks.reads)
    if (auto done = one(chunk, Access::remote_read); !done) return done;
  for (OfferedChunk& chunk : running.chunks.writes)
    if (auto done = one(chunk, Access::remote_write); !done) return done;
  if (running.chunks.reply) return one(*running.chunks.reply, Access::remote_write);
  return {};
}

void ClientConnection::give_up(std::uint32_t xid) {
  std::erase_if(waiting_, [xid](const Waiting& one) { return one.xid == xid; });
  const auto found = running_.find(xid);
  if (found == running_.end()) return;
  Running& running = *found->second;
  running.given_up = true;
  running.exposure.withdraw();
}

void ClientConnection::fail_later(std::uint32_t xid, rpc::CallError error) {
  failed_.push_back({xid, error});
  schedule();
}

void ClientConnection::on_received(io::SlabRange message) {
  if (state_ != State::open) return schedule();
  refill();
  take(io::Payload(std::move(message)));
  run_calls();
}

void ClientConnection::on_receive_failed(WorkStatus status) {
  if (status == WorkStatus::flushed)
    disconnect();
  else
    fail("receive");
  schedule();
}

void ClientConnection::take(io::Payload message) {
  xdr::Arena arena;
  Header header;
  switch (decode_header(message, arena, header)) {
    case HeaderVerdict::message:
      return take_reply(header, std::move(message));
    case HeaderVerdict::error:
      return take_error(header.xid);
    case HeaderVerdict::ignored:
      if (header.proc == rdma_proc::RDMA_ERROR) take_error(header.xid);
      return;
    case HeaderVerdict::err_vers:
    case HeaderVerdict::err_chunk:
      return fail("bad_header");
  }
}

void ClientConnection::take_reply(const Header& header, io::Payload message) {
  const bool is_inline = header.proc == rdma_proc::RDMA_MSG;
  // A call of the server's.
  if (is_inline && !message_start(message, header.body).is_reply) return;
  const auto found = running_.find(header.xid);
  if (found == running_.end()) return fail("unknown_xid");
  auto returned = take_returned(header, found->second->chunks);
  if (!returned) return fail("bad_chunks");
  const std::unique_ptr<Running> call = std::move(found->second);
  running_.erase(found);
  granted_ = std::clamp(header.credits, 1U, connector_.options_.credits);
  // From here on the server cannot change what has come.
  call->exposure.withdraw();
  if (is_inline)
    message.drop_front(header.body);
  else
    message = std::move(returned->reply);
  // The receiver knows calls by the message's own number: no other call may end by this reply.
  if (message_start(message, 0).xid != header.xid) return fail("unknown_xid");
  if (call->given_up || receiver_ == nullptr) return;
  receiver_->on_reduced_reply(*this, std::move(message), std::move(returned->items),
                              connector_.reactor_.clock().now());
}

void ClientConnection::take_error(std::uint32_t xid) {
  const auto found = running_.find(xid);
  if (found == running_.end()) return fail("unknown_xid");
  const std::unique_ptr<Running> call = std::move(found->second);
  running_.erase(found);
  call->exposure.withdraw();
  if (!call->given_up && receiver_ != nullptr) receiver_->on_call_failed(*this, xid, rpc::CallError::refused);
}

void ClientConnection::on_transmitted(const Transmission& transmission) {
  if (state_ == State::ending) schedule();
  const std::size_t bytes = transmission.message_bytes;
  if (bytes > 0 && receiver_ != nullptr) receiver_->on_sent(*this, bytes);
}

void ClientConnection::on_transmission_failed(WorkStatus status) {
  if (status == WorkStatus::flushed)
    disconnect();
  else
    fail("send");
}

bool ClientConnection::refill() {
  if (map_ == nullptr) return false;
  if (receives_.fill(*endpoint_, *map_)) return true;
  connector_.retry_later();
  return false;
}

void ClientConnection::fail(const char* reason) {
  if (state_ >= State::ending) return;
  base::log_event(base::Level::info, "rdma_client_closed", "peer={} reason={}", peer_.text(), reason);
  disconnect();
}

void ClientConnection::disconnect() {
  if (state_ >= State::ending) return;
  state_ = State::ending;
  ending_at_ = connector_.reactor_.clock().now();
  waiting_.clear();
  failed_.clear();
  sends_.abandon();
  posts_.flush();
  endpoint_->disconnect();
  running_.clear();  // and with it every exposure
  schedule();
}

void ClientConnection::schedule() {
  if (std::exchange(scheduled_, true)) return;
  io::ReadyQueue::current().push(
      {[](void* self) { static_cast<ClientConnection*>(self)->run_later(); }, this});
}

void ClientConnection::run_later() {
  scheduled_ = false;
  for (const Failed& one : std::exchange(failed_, {}))
    if (receiver_ != nullptr) receiver_->on_call_failed(*this, one.xid, one.error);
  end_if_drained();
}

void ClientConnection::on_disconnected() {
  told_disconnected_ = true;
  disconnect();
  schedule();
}

void ClientConnection::end_if_drained() {
  if (state_ != State::ending || !told_disconnected_ || scheduled_) return;
  if (receives_.posted() > 0 || !sends_.idle()) return;
  if (awaited_) return connector_.wake(*this);
  state_ = State::ended;
  if (receiver_ != nullptr) receiver_->on_closed(*this);
  connector_.forget(*this);
}

void ClientConnection::check_limits(base::TimePoint now) {
  if (state_ == State::ending && now - ending_at_ > connector_.options_.flush_limit) endpoint_->take_back();
  const base::Duration limit = connector_.options_.stall_limit;
  const auto oldest = sends_.oldest();
  if ((oldest && now - *oldest > limit) || (state_ == State::starting && now - begun_at_ > limit))
    fail("stalled");
}

}  // namespace braid::rdma
