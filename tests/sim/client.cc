#include "tests/sim/client.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace braid::sim {
namespace {

constexpr base::Duration reply_patience = std::chrono::seconds(9);
constexpr std::size_t answered_max = 64;

verifier4 verifier_of(std::uint64_t number) {
  verifier4 out{};
  std::memcpy(out.data(), &number, sizeof number);
  return out;
}

// Statuses of SEQUENCE that say that the session is not there.
bool session_gone(nfsstat4 status) {
  return status == nfsstat4::NFS4ERR_BADSESSION || status == nfsstat4::NFS4ERR_DEADSESSION;
}

}  // namespace

Client::Client(World& world, const ClientTraits& traits, std::uint32_t incarnation, const Random& random)
    : world_(world),
      traits_(traits),
      incarnation_(incarnation),
      name_("client-" + std::to_string(traits.index)),
      verifier_(verifier_of(1000 * incarnation + traits.index + 1)),
      random_(random),
      last_xid_(incarnation << 20) {}

void Client::start() {
  world_.trace.add(traits_.index, {}, "boots (minor version {})", traits_.minor_version);
  io::spawn(gate_, keep_alive());
  for (std::uint32_t owner = 0; owner < traits_.owners; ++owner) io::spawn(gate_, work(owner));
}

void Client::crash() {
  world_.trace.add(traits_.index, {}, "crashes");
  crashed_ = true;
  world_.oracle.drop_all(traits_.index);
  if (wire_) std::exchange(wire_, nullptr)->hang_up();
  for (const auto& [xid, call] : calls_)
    if (call->waiter) io::ReadyQueue::current().push(io::ReadyItem::of(std::exchange(call->waiter, nullptr)));
}

ClientOp<> Client::pause(base::Duration wait) {
  co_await world_.scheduler.sleep(wait);
  if (crashed_) co_await base::fail(Ended::crashed);
}

ClientOp<> Client::pause_between(base::Duration low, base::Duration high) {
  return pause(random_.between(low, high));
}

ClientOp<> Client::until_ready() {
  while (!ready_ || world_.scheduler.now() < silent_until_) co_await pause(std::chrono::milliseconds(100));
}

// --- The wire.

void Client::connect_again() {
  if (connecting_ || crashed_) return;
  connecting_ = true;
  const base::Duration wait =
      random_.between(base::Duration(std::chrono::milliseconds(5)), std::chrono::milliseconds(800));
  io::spawn(gate_, [](Client& self, base::Duration before) -> ClientOp<> {
    co_await self.pause(before);
    self.connecting_ = false;
    self.wire_ = self.world_.network.connect(self.traits_.index, self);
    for (const auto& [xid, call] : self.calls_)
      if (!call->reply) self.wire_->send_to_server(call->message);
  }(*this, wait));
}

void Client::on_closed(const WireRef& wire) {
  if (wire != wire_) return;
  wire_ = nullptr;
  connect_again();
}

void Client::on_message(const WireRef& wire, base::Bytes message) {
  if (crashed_) return;
  if (is_call(message)) {
    CallbackAnswer answer = answer_callback(message);
    wire->send_to_server(std::move(answer.reply));
    if (answer.recalled && traits_.returns_delegations && world_.plant != Plant::secret_writers)
      io::spawn(gate_, return_delegation(*answer.recalled,
                                         random_.between(base::Duration(0), std::chrono::seconds(3))));
    return;
  }
  const std::uint32_t xid = xid_of(message);
  const auto found = calls_.find(xid);
  if (found == calls_.end() || found->second->reply) return repeated(xid, message, wire->life());
  Call& call = *found->second;
  call.reply = std::move(message);
  call.life = wire->life();
  if (call.waiter) io::ReadyQueue::current().push(io::ReadyItem::of(std::exchange(call.waiter, nullptr)));
}

// RFC 8881 2.10.6.1.3, RFC 7530 9.1.9: the reply to a repeated call is the first one, as long as the server
// may have to repeat it.
void Client::repeated(std::uint32_t xid, const base::Bytes& reply, std::uint32_t life) {
  if (traits_.minor_version > 0 && ready_) check_length(reply, false);
  const auto known = answered_.find(xid);
  if (known == answered_.end() || known->second.life != life) return;
  base::Bytes second = reply;
  if (world_.plant == Plant::changed_replies) second.back() ^= std::byte{1};
  if (second == known->second.reply) return;
  const Response response(second);
  if (traits_.minor_version > 0 && response.understood() &&
      (session_gone(response.status()) || response.status() == nfsstat4::NFS4ERR_SEQ_MISORDERED))
    return;
  world_.oracle.violation("same_reply", traits_.index, {},
                          fmt::format("the second reply to call {:#x} differs from the first one: {}", xid,
                                      name_of(response.status())));
}

// --- Calls.

struct Client::Turn {
  Call& call;
  [[nodiscard]] bool await_ready() const { return call.reply.has_value(); }
  void await_suspend(std::coroutine_handle<> handle) { call.waiter = handle; }
  void await_resume() const {}
};

ClientOp<Client::Exchanged> Client::exchange(Request request, bool once) {
  if (crashed_) co_return base::fail(Ended::crashed);
  const std::uint32_t xid = ++last_xid_;
  Call call{.message = request.call(xid, traits_.minor_version), .reply = {}, .life = 0, .waiter = {}};
  calls_[xid] = &call;
  const base::TimePoint sent = world_.scheduler.now();
  const std::uint32_t first_life = world_.oracle.life();
  if (wire_)
    wire_->send_to_server(call.message);
  else
    connect_again();
  while (!call.reply && !crashed_) {
    // Whoever hears nothing connects anew and repeats what was not answered.
    world_.scheduler.after(reply_patience, [this, xid, old = wire_] {
      if (crashed_ || !old || old != wire_ || !calls_.contains(xid) || calls_[xid]->reply) return;
      std::exchange(wire_, nullptr)->hang_up();
      connect_again();
    });
    co_await Turn{call};
  }
  calls_.erase(xid);
  ++ended_calls_;
  if (crashed_) co_return base::fail(Ended::crashed);
  if (once) {
    answered_[xid] = {*call.reply, call.life};
    if (answered_.size() > answered_max) answered_.erase(answered_.begin());
  }
  Exchanged out;
  out.reply = std::move(*call.reply);
  out.sent = sent;
  out.life = call.life;
  out.one_life = first_life == call.life;
  out.first_life = first_life;
  co_return out;
}

ClientOp<std::uint32_t> Client::take_slot() {
  for (;;) {
    for (std::uint32_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].busy) continue;
      slots_[i].busy = true;
      co_return i;
    }
    co_await pause(std::chrono::milliseconds(5));
  }
}

ClientOp<Outcome> Client::run(Request body, bool once) {
  if (traits_.minor_version > 0) co_return co_await run_in_session(body, once);
  const base::TimePoint lease = world_.oracle.lease_end(traits_.index);
  const std::uint32_t instance = instance_;
  Exchanged done = co_await exchange(std::move(body), once);
  Outcome out(Response(done.reply), done.sent);
  out.lease = lease;
  out.instance = instance;
  out.life = done.life;
  out.one_life = done.one_life;
  out.first_life = done.first_life;
  out.lost = !out.response.understood();
  co_return out;
}

void Client::check_length(const base::Bytes& reply, bool kept) {
  const std::uint32_t limit =
      kept ? std::min(fore_.ca_maxresponsesize, fore_.ca_maxresponsesize_cached) : fore_.ca_maxresponsesize;
  if (reply.size() > limit)
    world_.oracle.violation("reply_length", traits_.index, {},
                            fmt::format("a reply of {} bytes where {} are allowed", reply.size(), limit));
}

ClientOp<Outcome> Client::run_in_session(const Request& body, bool once) {
  const std::uint32_t slot = co_await take_slot();
  const sessionid4 session = session_;
  const base::TimePoint lease = world_.oracle.lease_end(traits_.index);
  const std::uint32_t instance = instance_;
  for (;;) {
    Request request;
    request.add(nfs_opnum4::OP_SEQUENCE,
                SEQUENCE4args{.sa_sessionid = session,
                              .sa_sequenceid = slots_[slot].sequence,
                              .sa_slotid = slot,
                              .sa_highest_slotid = static_cast<std::uint32_t>(slots_.size() - 1),
                              .sa_cachethis = once});
    request.append(body);
    Exchanged done = co_await exchange(std::move(request), once);
    if (session == session_) check_length(done.reply, once);
    Outcome out(Response(done.reply), done.sent);
    out.lease = lease;
    out.instance = instance;
    out.life = done.life;
    out.one_life = done.one_life;
    const auto first = out.response.next();
    const nfsstat4 status = first ? first->status : nfsstat4::NFS4ERR_SERVERFAULT;
    if (status == nfsstat4::NFS4ERR_DELAY) {
      co_await pause(std::chrono::milliseconds(50));
      continue;
    }
    if (session == session_) {
      slots_[slot].busy = false;
      ++slots_[slot].sequence;
    }
    const auto sequence = status == nfsstat4::NFS4_OK ? out.response.body<SEQUENCE4resok>() : std::nullopt;
    if (sequence) {
      if (instance == instance_) world_.oracle.renewed(traits_.index, done.sent);
      constexpr std::uint32_t revoked = SEQ4_STATUS_RECALLABLE_STATE_REVOKED;
      constexpr std::uint32_t down = SEQ4_STATUS_CB_PATH_DOWN | SEQ4_STATUS_CB_PATH_DOWN_SESSION;
      revoked_seen_ = revoked_seen_ || (sequence->sr_status_flags & revoked) != 0;
      back_channel_down_ = (sequence->sr_status_flags & down) != 0;
      out.lost = out.response.status() == nfsstat4::NFS4ERR_RETRY_UNCACHED_REP;
      co_return out;
    }
    out.lost = true;
    if (status == nfsstat4::NFS4ERR_SEQ_MISORDERED)
      world_.oracle.violation("exactly_once", traits_.index, {}, "the server counts a slot otherwise");
    if (session_gone(status) && session == session_ && instance == instance_) disowned(out, status);
    co_return out;
  }
}

}  // namespace braid::sim
