#include "rpc/running_call.h"

#include <utility>

#include "base/assert.h"
#include "rpc/reply_header.h"

namespace braid::rpc {

void RunningCall::start(Session& session, io::Payload message, base::TimePoint arrived, CallTag tag) {
  (new RunningCall(session, std::move(message), arrived, tag))->run();
}

RunningCall::RunningCall(Session& session, io::Payload message, base::TimePoint arrived, CallTag tag)
    : session_(session),
      call_(std::move(message), session.peer(), session.worker().cursor_),
      tag_(tag),
      op_(Answer::system_err) {
  call_.pipes = session.pipes();
  call_.session = &session;
  call_.usage = &session.usage();
  call_.peer_id = session.peer_id();
  call_.arrived = arrived;
  session_.call_began();
}

RunningCall::~RunningCall() = default;

RefusalMetrics& RunningCall::refusals() { return session_.worker().server_.refusals(); }

void RunningCall::run() {
  const HeaderOutcome header = decode_call_header(call_);
  switch (header.verdict) {
    case HeaderVerdict::call:
      return route();
    case HeaderVerdict::reply:
      if (!session_.take_reply(std::move(call_.message), call_.arrived)) refusals().unexpected_reply.add();
      return end();
    case HeaderVerdict::unanswerable:
      refusals().malformed.add();
      session_.close_connection();
      return end();
    case HeaderVerdict::rpc_mismatch:
      refusals().rpc_mismatch.add();
      encode_rpc_mismatch(fresh_encoder(), call_.xid);
      if (!send_and_end()) fail(accept_stat::SYSTEM_ERR);
      return;
    case HeaderVerdict::auth_error:
      return refuse_auth(header.why);
  }
}

void RunningCall::route() {
  const DispatchTable::Found found =
      session_.worker().server_.table().find(call_.program, call_.version, call_.procedure);
  if (found.stat != accept_stat::SUCCESS) return refuse(found);
  route_ = found.route;
  if (route_->replay == Replay::cached && (route_->keeps == nullptr || route_->keeps(call_))) {
    key_ = replay_key_of(call_, session_.worker().server_.replays().key());
    if (!look_up_replay()) return;
  }
  execute();
}

bool RunningCall::look_up_replay() {
  ReplayLookup looked = session_.worker().server_.replays().look_up(key_, this, call_.arrived);
  switch (looked.state) {
    case ReplayState::execute:
      has_entry_ = true;
      entry_ = looked.entry;
      return true;
    case ReplayState::uncached:
      return true;
    case ReplayState::running:
      reserve();
      return false;
    case ReplayState::done:
      repeat(looked.reply);
      return false;
  }
  return false;
}

void RunningCall::execute() {
  if (route_->handler == nullptr) {
    begin();
    return finish(Answer::success);
  }
  op_ = route_->handler(*route_->service, call_, *this);
  op_.start(call_.peer_id);
  if (op_.done()) return handler_ended();
  reserve();
  op_.set_continuation({[](void* self) { static_cast<RunningCall*>(self)->handler_ended(); }, this});
}

// A call that does not wait is the only one of its thread, and over before anybody could look at the budgets.
void RunningCall::reserve() {
  if (reserved_ > 0) return;
  reserved_ = call_.message.size() + route_->reply_bytes_max;
  session_.reserve(reserved_);
}

void RunningCall::handler_ended() {
  // An error number of the environment that the protocol did not translate is ours to answer for.
  finish(op_.result().value_or(Answer::system_err));
}

xdr::Encoder& RunningCall::fresh_encoder() {
  encoder_.emplace(session_.worker().cursor_, session_.headroom());
  return *encoder_;
}

xdr::Encoder& RunningCall::begin() {
  encode_accepted(fresh_encoder(), call_.xid, accept_stat::SUCCESS);
  return *encoder_;
}

void RunningCall::finish(Answer answer) {
  base::check(answer != Answer::success || encoder_, "a successful handler has begun its reply");
  if (answer == Answer::garbage_args) return fail(accept_stat::GARBAGE_ARGS);
  if (answer == Answer::auth_tooweak) return refuse_auth(auth_stat::AUTH_TOOWEAK);
  if (answer == Answer::system_err || !encoder_->ok()) return fail(accept_stat::SYSTEM_ERR);
  if (status != 0) route_->metrics->errors.add();
  if (!send_and_end()) fail(accept_stat::SYSTEM_ERR);
}

void RunningCall::fail(accept_stat stat) {
  (stat == accept_stat::GARBAGE_ARGS ? refusals().garbage_args : refusals().system_err).add();
  if (route_ != nullptr) route_->metrics->errors.add();
  // It had no effect, so it may be tried again.
  if (stat == accept_stat::GARBAGE_ARGS) abandon_entry();
  encode_accepted(fresh_encoder(), call_.xid, stat);
  if (send_and_end()) return;
  // Not even this reply can be had: without the connection the client knows that it has to ask again.
  session_.close_connection();
  end();
}

void RunningCall::refuse_auth(auth_stat why) {
  refusals().auth_error.add();
  abandon_entry();
  encode_auth_error(fresh_encoder(), call_.xid, why);
  if (!send_and_end()) fail(accept_stat::SYSTEM_ERR);
}

void RunningCall::refuse(const DispatchTable::Found& found) {
  xdr::Encoder& out = fresh_encoder();
  if (found.stat == accept_stat::PROG_MISMATCH) {
    refusals().prog_mismatch.add();
    encode_prog_mismatch(out, call_.xid, found.low, found.high);
  } else {
    (found.stat == accept_stat::PROG_UNAVAIL ? refusals().prog_unavail : refusals().proc_unavail).add();
    encode_accepted(out, call_.xid, found.stat);
  }
  if (!send_and_end()) fail(accept_stat::SYSTEM_ERR);
}

void RunningCall::repeat(const KeptReply& kept) {
  fresh_encoder().opaque_fixed(kept.view());
  if (!send_and_end()) fail(accept_stat::SYSTEM_ERR);
}

bool RunningCall::send_and_end() {
  if (!encoder_->ok()) return false;
  xdr::Message message = encoder_->finish();
  const base::TimePoint now = session_.worker().reactor_.clock().now();
  if (route_ != nullptr) {
    route_->metrics->latency.add(now - call_.arrived);
    route_->metrics->bytes_in.add(call_.message.size());
    route_->metrics->bytes_out.add(message.bytes.size());
  }
  keep_reply(message.bytes, now);
  session_.reply(tag_, std::move(message));
  end();
  return true;
}

void RunningCall::keep_reply(const io::Payload& message, base::TimePoint now) {
  if (!has_entry_) return;
  const KeptReply reply = worth_keeping ? copy_reply(message, session_.headroom()) : KeptReply();
  if (!reply.data) return abandon_entry();
  has_entry_ = false;
  wake_waiters(session_.worker().server_.replays().finish(key_, entry_, reply, now), reply);
}

void RunningCall::wake_waiters(ReplayWaiter* waiters, const KeptReply& reply) {
  while (waiters != nullptr) {
    auto* call = static_cast<RunningCall*>(waiters);
    waiters = waiters->next;
    call->kept_ = reply;
    // From here on the call belongs to its own thread again.
    call->session_.worker().reactor_.post(
        io::ReadyItem{[](void* self) { static_cast<RunningCall*>(self)->resume_waiting(); }, call});
  }
}

void RunningCall::resume_waiting() {
  if (kept_.data) return repeat(kept_);
  if (look_up_replay()) execute();
}

void RunningCall::abandon_entry() {
  if (!std::exchange(has_entry_, false)) return;
  wake_waiters(session_.worker().server_.replays().abandon(key_, entry_), {});
}

void RunningCall::end() {
  abandon_entry();
  if (reserved_ > 0) session_.release(reserved_);
  session_.call_ended();
  delete this;
}

}  // namespace braid::rpc
