#include "rdma/connection.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "io/ready_queue.h"
#include "rdma/assembly.h"
#include "rdma/buffers.h"
#include "rdma/private_data.h"
#include "rdma/worker.h"
#include "rpc/peer_account.h"

namespace braid::rdma {
namespace {

// Requests of a connection's queue, besides the RDMA Reads. One chain has at most a request per segment and
// per pieces_max ranges of the reply.
constexpr std::uint32_t requests_max = 512;

}  // namespace

RdmaConnection::RdmaConnection(RdmaWorker& worker, const rpc::PeerAddress& peer, rpc::Acceptor& acceptor,
                               rpc::ConnectionLimit::Place place)
    : worker_(worker),
      peer_(peer),
      acceptor_(acceptor),
      place_(std::move(place)),
      receives_(worker.pool_, worker.options_.credits + worker.options_.back_credits,
                worker.options_.inline_bytes, *this),
      read_queue_(worker.pool_, *this),
      sends_(worker.reactor_.clock(), *this),
      inline_out_(worker.options_.inline_bytes),
      active_at_(worker.reactor_.clock().now()),
      probed_at_(active_at_) {}

RdmaConnection::~RdmaConnection() {
  base::check(!endpoint_ || state_ == State::ended, "a connection ends before it is destroyed");
}

base::Result<void> RdmaConnection::accept(std::unique_ptr<ConnectRequest> request) {
  const RdmaOptions& options = worker_.options_;
  Device& device = request->device();
  auto map = worker_.maps_.of(device);
  if (!map) {
    request->refuse(Refusal::no_resources);
    return base::fail(map.error());
  }
  map_ = *map;
  const DeviceLimits& limits = device.limits();
  const PrivateData theirs = decode_private_data(request->offered().private_data);
  const std::uint32_t reads = std::min({options.reads_max, limits.reads_max, request->offered().reads_in});
  if (limits.requests_max <= reads + SendQueue::silent_room || limits.requests_max < receives_.count()) {
    request->refuse(Refusal::no_resources);
    return base::fail(ENOSPC);
  }
  if (!receives_.prepare()) {
    request->refuse(Refusal::no_resources);
    return base::fail(ENOBUFS);
  }
  const std::uint32_t requests = std::min(requests_max, limits.requests_max - reads);
  pieces_max_ = limits.pieces_max;
  inline_out_ = std::min(options.inline_bytes, theirs.receive_bytes);
  invalidates_ = theirs.remote_invalidation && limits.sends_invalidate;
  readable_ = reads > 0;

  auto endpoint = worker_.verbs_.open(std::move(request),
                                      {.receives = receives_.count(), .requests = requests + reads}, *this);
  if (!endpoint) return base::fail(endpoint.error());
  endpoint_ = std::move(*endpoint);
  posts_.set_up(*endpoint_);
  read_queue_.set_up(posts_, *map_, {reads, pieces_max_, options.chunk_reads_bytes_max});
  sends_.set_up(posts_, requests - SendQueue::silent_room, endpoint_->copied_max());
  const auto ours = encode(PrivateData{options.inline_bytes, options.inline_bytes, limits.sends_invalidate});
  refill();
  if (receives_.posted() == 0 || !endpoint_->start({.private_data = ours, .reads_out = reads, .reads_in = 0}))
    disconnect();
  return {};
}

void RdmaConnection::on_established(const ConnectParameters&) {
  if (state_ != State::starting) return;
  state_ = State::open;
  active_at_ = worker_.reactor_.clock().now();
  worker_.metrics_.accepted.add();
  receiver_ = &acceptor_.on_connected(*this);
  process(active_at_);
}

void RdmaConnection::on_disconnected() {
  told_disconnected_ = true;
  disconnect();
  schedule();
}

void RdmaConnection::on_received(io::SlabRange message) {
  if (state_ == State::ending) return schedule();
  refill();
  const base::TimePoint now = worker_.reactor_.clock().now();
  active_at_ = now;
  // Only so many can have been sent by a peer that keeps to its credits.
  if (inbox_.size() == receives_.count()) return fail(worker_.metrics_.closed_credits, "credits");
  inbox_.push_back({io::Payload(std::move(message)), now});
  process(now);
}

void RdmaConnection::on_receive_failed(WorkStatus status) {
  if (status == WorkStatus::flushed)
    disconnect();
  else
    fail(worker_.metrics_.closed_transfer, "receive");
  schedule();
}

void RdmaConnection::on_chunks_read(ChunkReads& chunk_reads) {
  auto& call = static_cast<CallState&>(chunk_reads);
  if (state_ != State::open) return schedule();
  worker_.metrics_.read_chunks.add(call.lists.reads().size() + (call.lists.call() ? 1 : 0));
  worker_.metrics_.bytes_read.add(call.lists.read_bytes());
  active_at_ = worker_.reactor_.clock().now();
  read_calls_.push_back(&call);
  process(active_at_);
}

void RdmaConnection::on_read_failed(WorkStatus) {
  fail(worker_.metrics_.closed_transfer, "read");
  schedule();
}

void RdmaConnection::on_reads_starved() { starve(); }

void RdmaConnection::deliver(CallState& call) {
  auto whole = assemble(call.lists.call() ? call.call : call.rest, call.data);
  call.rest.clear();
  call.ChunkReads::clear();
  const MessageStart start = whole ? message_start(*whole, 0) : MessageStart();
  // RFC 8166 section 4.5.2: the xid of the header is that of the message.
  if (!whole || start.xid != call.xid) {
    send_error(call.xid, RPCRDMA_VERSION, rpc_rdma_errcode::ERR_CHUNK);
    return end_call(call);
  }
  // RFC 8167 section 4: replies to calls of ours are inline. Nobody would answer this one.
  if (start.is_reply) return fail(worker_.metrics_.closed_header, "bad_header");
  receiver_->on_tagged_message(*this, std::move(*whole), call.arrived, rpc::CallTag(call.index + 1));
}

RdmaConnection::CallState& RdmaConnection::begin_call(std::uint32_t xid, base::TimePoint arrived) {
  if (free_calls_.empty()) {
    free_calls_.push_back(calls_.emplace_back(std::make_unique<CallState>()).get());
    free_calls_.back()->index = static_cast<std::uint32_t>(calls_.size() - 1);
  }
  CallState& call = *free_calls_.back();
  free_calls_.pop_back();
  ++running_calls_;
  call.xid = xid;
  call.arrived = arrived;
  return call;
}

void RdmaConnection::end_call(CallState& call) {
  call.lists.clear();
  call.rest.clear();
  call.ChunkReads::clear();
  --running_calls_;
  free_calls_.push_back(&call);
}

void RdmaConnection::reply(rpc::CallTag tag, xdr::Message message) {
  if (state_ != State::open) return;
  CallState* call = calls_[tag.value() - 1].get();
  answer({.xid = call->xid, .error = {}, .call = call, .message = std::move(message), .since = {}});
}

void RdmaConnection::send_error(std::uint32_t xid, std::uint32_t version, rpc_rdma_errcode code) {
  answer({.xid = xid, .version = version, .error = code, .message = {}, .since = {}});
}

void RdmaConnection::answer(Answer one) {
  one.since = worker_.reactor_.clock().recently();
  ++answers_out_;
  answers_.push_back(std::move(one));
  run_answers();
}

void RdmaConnection::run_answers() {
  while (state_ == State::open && !answers_.empty()) {
    const Answer& next = answers_.front();
    Transmission& out = sends_.begin();
    if (const auto built = build(next, out.chain); !built) {
      sends_.discard(out);
      if (built.error() == base::errno_of(ENOBUFS)) return starve();
      // Without the connection the client knows that it has to ask again.
      return fail(worker_.metrics_.closed_transfer, "registration");
    }
    out.message_bytes = next.message.bytes.size();
    out.answers = true;
    if (next.call != nullptr) end_call(*next.call);
    answers_.pop_front();
    sends_.submit(out);
  }
}

base::Result<void> RdmaConnection::build_error(std::uint32_t xid, std::uint32_t version,
                                               rpc_rdma_errcode code, Chain& out) {
  xdr::Encoder header(worker_.cursor_);
  encode_error(header, xid, version, grant(), code);
  if (!header.ok()) return base::fail(ENOBUFS);
  out.send(Opcode::send, header.finish().bytes, {}, *map_);
  (code == rpc_rdma_errcode::ERR_VERS ? worker_.metrics_.err_vers : worker_.metrics_.err_chunk).add();
  return {};
}

base::Result<void> RdmaConnection::build(const Answer& answer, Chain& out) {
  if (answer.error) return build_error(answer.xid, answer.version, *answer.error, out);
  const CallState& call = *answer.call;
  if (placement_.place(answer.message, call.lists, inline_out_))
    return build_error(answer.xid, answer.version, rpc_rdma_errcode::ERR_CHUNK, out);
  xdr::Encoder header(worker_.cursor_);
  for (const RemoteWrite& write : placement_.writes()) {
    auto added = out.transfer(Opcode::write, write.data, write.key, write.address, *map_, pieces_max_);
    if (!added) return added;
  }
  const ReplyHeader head = placement_.header(call.xid, grant());
  encode(header, head);
  if (!header.ok()) return base::fail(ENOBUFS);
  const io::Payload whole =
      join(worker_.cursor_, header.finish().bytes, placement_.inline_part(), pieces_max_);
  if (whole.empty()) return base::fail(ENOBUFS);
  // Only with one key for all segments is it sure that the client wants this one gone.
  const auto key = invalidates_ ? call.lists.sole_key() : std::nullopt;
  if (key) worker_.metrics_.invalidated.add();
  out.send(key ? Opcode::send_invalidate : Opcode::send, whole, key.value_or(RemoteKey()), *map_);
  count(head);
  return {};
}

void RdmaConnection::count(const ReplyHeader& header) {
  std::uint64_t bytes = header.reply ? header.reply->bytes_written : 0;
  if (bytes > 0) worker_.metrics_.reply_chunks.add();
  for (const ReturnedChunk& chunk : header.writes) {
    if (chunk.bytes_written == 0) continue;
    worker_.metrics_.write_chunks.add();
    bytes += chunk.bytes_written;
  }
  if (bytes > 0) worker_.metrics_.bytes_written.add(bytes);
}

// A call of ours (RFC 8167 section 4): always inline.
void RdmaConnection::send(xdr::Message message) {
  if (state_ != State::open) return;
  if (plain_header_bytes + message.bytes.size() > inline_out_) {
    base::log_event(rpc::log_source(peer_), base::Level::warning, "rdma_call_too_long", "peer={} bytes={}",
                    peer_.text(), message.bytes.size());
    unsendable_bytes_ += message.bytes.size();
    return schedule();
  }
  back_waiting_.push_back(std::move(message));
  run_back_calls();
}

void RdmaConnection::run_back_calls() {
  while (state_ == State::open && !back_waiting_.empty() && back_out_ < back_window_) {
    if (!send_plain(back_waiting_.front())) return starve();
    back_waiting_.pop_front();
    ++back_out_;
  }
}

bool RdmaConnection::send_plain(const xdr::Message& message) {
  xdr::Encoder header(worker_.cursor_);
  encode_plain_header(header, message_start(message.bytes, 0).xid, worker_.options_.back_credits);
  if (!header.ok()) return false;
  const io::Payload whole = join(worker_.cursor_, header.finish().bytes, message.bytes, pieces_max_);
  if (whole.empty()) return false;
  Transmission& out = sends_.begin();
  out.message_bytes = message.bytes.size();
  out.chain.send(Opcode::send, whole, {}, *map_);
  sends_.submit(out);
  return true;
}

// RFC 8166 section 3.3.1: as many calls as there are receives for, but never none.
std::uint32_t RdmaConnection::grant() {
  const std::uint32_t missing = receives_.count() - receives_.posted();
  const std::uint32_t credits = worker_.options_.credits;
  note_granted(std::max(1U, credits - std::min(credits, missing)));
  return granted_;
}

void RdmaConnection::note_granted(std::uint32_t credits) {
  if (credits == granted_) return;
  worker_.metrics_.credits.fetch_add(std::int64_t{credits} - granted_, std::memory_order_relaxed);
  granted_ = credits;
}

void RdmaConnection::on_transmitted(const Transmission& transmission) {
  if (transmission.answers) --answers_out_;
  if (state_ == State::ending || !inbox_.empty()) schedule();
  if (transmission.message_bytes == 0) return;
  active_at_ = worker_.reactor_.clock().recently();
  receiver_->on_sent(*this, transmission.message_bytes);
}

void RdmaConnection::on_transmission_failed(WorkStatus status) {
  if (status == WorkStatus::flushed)
    disconnect();
  else
    fail(worker_.metrics_.closed_transfer, "send");
}

void RdmaConnection::refill() {
  if (!receives_.fill(*endpoint_, *map_)) starve();
}

void RdmaConnection::starve() {
  worker_.metrics_.memory_waits.add();
  worker_.retry_later();
}

void RdmaConnection::retry() {
  if (state_ >= State::ending) return;
  refill();
  read_queue_.run();
  run_answers();
  run_back_calls();
}

void RdmaConnection::resume() { schedule(); }

void RdmaConnection::close() { disconnect(); }

void RdmaConnection::fail(base::Counter& counter, const char* reason) {
  if (state_ >= State::ending) return;
  counter.add();
  base::log_event(rpc::log_source(peer_), base::Level::info, "rdma_connection_closed", "peer={} reason={}",
                  peer_.text(), reason);
  disconnect();
}

void RdmaConnection::disconnect() {
  if (state_ >= State::ending) return;
  state_ = State::ending;
  ending_at_ = worker_.reactor_.clock().now();
  inbox_.clear();
  for (CallState* const call : std::exchange(read_calls_, {})) end_call(*call);
  answers_.clear();
  back_waiting_.clear();
  read_queue_.abandon();
  sends_.abandon();
  posts_.flush();
  endpoint_->disconnect();
  schedule();
}

void RdmaConnection::schedule() {
  if (std::exchange(scheduled_, true)) return;
  io::ReadyQueue::current().push({[](void* self) { static_cast<RdmaConnection*>(self)->run_later(); }, this});
}

void RdmaConnection::run_later() {
  scheduled_ = false;
  if (const std::size_t bytes = std::exchange(unsendable_bytes_, 0); bytes > 0 && state_ == State::open)
    receiver_->on_sent(*this, bytes);
  if (!inbox_.empty()) process(worker_.reactor_.clock().now());
  end_if_drained();
}

void RdmaConnection::end_if_drained() {
  if (state_ != State::ending || !told_disconnected_ || scheduled_ || waits_for_turn_) return;
  if (receives_.posted() > 0 || !read_queue_.idle() || !sends_.idle()) return;
  state_ = State::ended;
  note_granted(0);
  if (receiver_ != nullptr) receiver_->on_closed(*this);
  worker_.forget(*this);
}

bool RdmaConnection::quiet() const { return running_calls_ == 0 && answers_.empty() && sends_.empty(); }

void RdmaConnection::hear_out() {
  sends_.listen();
  if (state_ == State::open && sends_.unheard()) probe();
}

void RdmaConnection::check_limits(base::TimePoint now) {
  const RdmaOptions& options = worker_.options_;
  if (state_ == State::ending) {
    if (now - ending_at_ > options.flush_limit) endpoint_->take_back();
    return;
  }
  const auto ask = [&] {
    probed_at_ = now;
    probe();
  };
  // Of what was sent in silence nothing would be heard until more is sent.
  if (state_ == State::open && sends_.unheard()) ask();
  if (!answers_.empty() && now - answers_.front().since > options.stall_limit)
    return fail(worker_.metrics_.closed_stalled, "no_memory");
  const auto oldest = sends_.oldest();
  if ((oldest && now - *oldest > options.stall_limit) ||
      (state_ == State::starting && now - active_at_ > options.stall_limit))
    return fail(worker_.metrics_.closed_stalled, "stalled");
  if (state_ != State::open || !quiet()) return;
  if (now - active_at_ > options.idle_limit) return fail(worker_.metrics_.closed_idle, "idle");
  if (now - std::max(active_at_, probed_at_) > options.keepalive_idle) ask();
}

void RdmaConnection::probe() {
  Transmission& out = sends_.begin();
  out.chain.probe();
  sends_.submit(out);
}

}  // namespace braid::rdma
