#include "rpc/client.h"

#include <algorithm>

#include "base/assert.h"
#include "rpc/rpc_msg.x.h"

namespace braid::rpc {
namespace {

constexpr std::size_t waiters_min = 64;

void encode_auth(xdr::Encoder& out, const Auth& auth) {
  if (const auto* sys = std::get_if<AuthSys>(&auth)) {
    // RFC 5531 appendix A: the length of authsys_parms comes first.
    const std::size_t name_bytes = (sys->machinename.size() + 3) / 4 * 4;
    out.u32(static_cast<std::uint32_t>(auth_flavor::AUTH_SYS));
    out.u32(static_cast<std::uint32_t>(20 + name_bytes + 4 * sys->group_count));
    out.u32(sys->stamp);
    out.text(sys->machinename);
    out.u32(sys->uid);
    out.u32(sys->gid);
    out.u32(sys->group_count);
    for (const std::uint32_t group : sys->groups()) out.u32(group);
  } else {
    out.u32(static_cast<std::uint32_t>(auth_flavor::AUTH_NONE));
    out.u32(0);
  }
  out.u32(static_cast<std::uint32_t>(auth_flavor::AUTH_NONE));
  out.u32(0);
}

CallError error_of(accept_stat stat) {
  switch (stat) {
    case accept_stat::SUCCESS:
      break;
    case accept_stat::PROG_UNAVAIL:
      return CallError::prog_unavail;
    case accept_stat::PROG_MISMATCH:
      return CallError::prog_mismatch;
    case accept_stat::PROC_UNAVAIL:
      return CallError::proc_unavail;
    case accept_stat::GARBAGE_ARGS:
      return CallError::garbage_args;
    case accept_stat::SYSTEM_ERR:
      return CallError::system_err;
  }
  return CallError::malformed;
}

}  // namespace

Client::Waiter::Waiter(Client& client, std::uint32_t xid, base::Duration timeout)
    : xid_(xid), deadline_(client.reactor_.clock().now() + timeout) {
  client.insert(*this);
}

Client::Client(io::Reactor& reactor, io::SlabPool& pool, std::uint32_t first_xid)
    : reactor_(reactor), cursor_(pool), xid_(first_xid), waiters_(waiters_min), timer_(reactor) {}

Client::~Client() { base::check(connection_ == nullptr, "a client outlives its connection"); }

void Client::attach(Connection& connection) {
  base::check(connection_ == nullptr, "one connection at a time");
  connection_ = &connection;
}

void Client::begin_call(xdr::Encoder& out, std::uint32_t xid, const ProcedureId& id, const Auth& auth) {
  out.u32(xid);
  out.u32(static_cast<std::uint32_t>(msg_type::CALL));
  out.u32(RPC_VERSION);
  out.u32(id.program);
  out.u32(id.version);
  out.u32(id.procedure);
  encode_auth(out, auth);
}

// A number whose place in waiters_ is free.
std::uint32_t Client::next_xid() {
  if (outstanding_ >= waiters_.size() / 2) {
    std::vector<Waiter*> larger(waiters_.size() * 2);
    for (Waiter* waiter : waiters_)
      if (waiter != nullptr) larger[waiter->xid_ & (larger.size() - 1)] = waiter;
    waiters_ = std::move(larger);
  }
  do {
    ++xid_;
  } while (waiters_[xid_ & (waiters_.size() - 1)] != nullptr);
  return xid_;
}

void Client::insert(Waiter& waiter) {
  waiters_[waiter.xid_ & (waiters_.size() - 1)] = &waiter;
  ++outstanding_;
  if (!watching_) {
    watching_ = true;
    watched_ = waiter.deadline_;
    io::spawn(gate_, watch_deadlines());
  } else if (waiter.deadline_ < watched_) {
    timer_.cancel();
  }
}

void Client::end(Waiter& waiter, base::Result<Results, CallError> outcome) {
  waiters_[waiter.xid_ & (waiters_.size() - 1)] = nullptr;
  --outstanding_;
  waiter.outcome_ = std::move(outcome);
  waiter.ended_ = true;
  if (waiter.handle_) reactor_.ready_queue().push(io::ReadyItem::of(waiter.handle_));
}

void Client::end_all(CallError error) {
  for (Waiter* waiter : waiters_)
    if (waiter != nullptr) end(*waiter, base::fail(error));
}

Client::Waiter* Client::waiter_of(std::uint32_t xid) {
  Waiter* waiter = waiters_[xid & (waiters_.size() - 1)];
  return waiter != nullptr && waiter->xid_ == xid ? waiter : nullptr;
}

void Client::on_message(Connection& connection, io::Payload message, base::TimePoint arrived) {
  on_reduced_reply(connection, std::move(message), {}, arrived);
}

void Client::on_reduced_reply(Connection&, io::Payload message, std::vector<io::Payload>&& apart,
                              base::TimePoint) {
  xdr::Arena arena;
  xdr::Decoder in(message, arena);
  std::uint32_t xid;
  if (!in.u32(xid)) return;
  // Otherwise a reply to a call that has timed out, or to none.
  if (Waiter* waiter = waiter_of(xid)) end(*waiter, Results{std::move(message), 0, std::move(apart)});
}

void Client::on_call_failed(Connection&, std::uint32_t xid, CallError error) {
  if (Waiter* waiter = waiter_of(xid)) end(*waiter, base::fail(error));
}

base::Result<Results, CallError> Client::results_of(Results reply) {
  xdr::Arena arena;
  xdr::Decoder in(reply.message, arena);
  rpc_msg header;
  if (!decode(in, header) || header.body.rbody() == nullptr) return base::fail(CallError::malformed);
  if (const rejected_reply* rejected = header.body.rbody()->rreply())
    return base::fail(rejected->astat() != nullptr ? CallError::auth_error : CallError::rpc_mismatch);
  const accept_stat stat = header.body.rbody()->areply()->reply_data.stat;
  if (stat != accept_stat::SUCCESS) return base::fail(error_of(stat));
  reply.offset = in.position();
  return reply;
}

io::Op<> Client::watch_deadlines() {
  while (outstanding_ > 0) {
    const base::TimePoint now = reactor_.clock().now();
    watched_ = base::TimePoint::max();
    for (Waiter* waiter : waiters_) {
      if (waiter == nullptr) continue;
      if (waiter->deadline_ > now) {
        watched_ = std::min(watched_, waiter->deadline_);
        continue;
      }
      if (connection_ != nullptr) connection_->give_up(waiter->xid_);
      end(*waiter, base::fail(CallError::timed_out));
    }
    if (outstanding_ > 0) (void)co_await timer_.until(watched_);
  }
  watching_ = false;
}

void Client::on_closed(Connection&) {
  connection_ = nullptr;
  end_all(CallError::closed);
  timer_.cancel();
  if (close_waiter_) reactor_.ready_queue().push(io::ReadyItem::of(std::exchange(close_waiter_, nullptr)));
}

void Client::hang_up() {
  if (connection_ != nullptr) connection_->close();
}

io::Op<> Client::close() {
  struct Closed {
    Client& client;
    [[nodiscard]] bool await_ready() const { return client.connection_ == nullptr; }
    void await_suspend(std::coroutine_handle<> handle) { client.close_waiter_ = handle; }
    void await_resume() const {}
  };
  hang_up();
  co_await Closed{*this};
  co_await gate_.drained();
}

}  // namespace braid::rpc
