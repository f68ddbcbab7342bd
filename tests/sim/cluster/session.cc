#include "tests/sim/cluster/session.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "tests/sim/cluster/options.h"

namespace braid::sim::cluster {
namespace {

using enum nfsstat4;
using std::chrono::milliseconds;

// Whoever hears nothing for so long connects anew and repeats the call.
constexpr base::Duration repeat_after = std::chrono::seconds(5);
constexpr int set_up_attempts = 40;

bool session_gone(nfsstat4 status) { return status == NFS4ERR_BADSESSION || status == NFS4ERR_DEADSESSION; }

channel_attrs4 channel(std::uint32_t slots) {
  constexpr std::uint32_t bytes = 1U << 20U;
  return {.ca_maxrequestsize = bytes,
          .ca_maxresponsesize = bytes,
          .ca_maxresponsesize_cached = 4096,
          .ca_maxoperations = 32,
          .ca_maxrequests = slots};
}

}  // namespace

// The status of the operation behind so many that bring nothing but OK.
nfsstat4 status_behind(Answer& answer, int before) {
  const nfsstat4 status = answer.response.skip(before);
  if (status != NFS4_OK) return status;
  const auto result = answer.response.next();
  return result ? result->status : answer.response.status();
}

// One that is lost again so soon may have been of no use. Who is cut off learns that much later.
void BackPath::lost(base::TimePoint now) {
  if (!lost_) lost_ = back_ && now < *back_ + soon ? lost_before_ : heard_;
}

void BackPath::back(base::TimePoint now) {
  if (!lost_) return;
  lost_before_ = *std::exchange(lost_, std::nullopt);
  back_ = now;
}

base::TimePoint BackPath::untold_since(base::TimePoint now) const {
  if (lost_) return *lost_;
  return back_ && now < *back_ + soon ? lost_before_ : now;
}

void Session::crash() {
  crashed_ = true;
  if (wire_) std::exchange(wire_, nullptr)->hang_up();
  for (const auto& [xid, call] : calls_) finish(*call);
}

SessionOp<> Session::pause(base::Duration wait) {
  co_await world_.scheduler.sleep(wait);
  if (crashed_) co_await base::fail(Fault::crashed);
}

// --- The wire.

void Session::send(Call& call) {
  ++call.times;
  wire_->send_to_server(call.message);
}

void Session::connect_again() {
  if (connecting_ || crashed_) return;
  connecting_ = true;
  const base::Duration wait = random_.between(base::Duration(milliseconds(5)), milliseconds(800));
  io::spawn(gate_, [](Session& self, base::Duration before) -> SessionOp<> {
    co_await self.pause(before);
    self.connecting_ = false;
    self.wire_ = self.network_.connect(self.traits_.client, self);
    for (const auto& [xid, call] : self.calls_)
      if (!call->over && !call->reply) self.send(*call);
  }(*this, wait));
}

void Session::on_closed(const WireRef& wire) {
  if (wire != wire_) return;
  wire_ = nullptr;
  back_path_.lost(world_.scheduler.now());
  connect_again();
}

void Session::on_message(const WireRef& wire, base::Bytes message) {
  if (crashed_) return;
  back_path_.heard(world_.scheduler.now());
  if (is_call(message)) {
    wire->send_to_server(answer_callback(message, on_recall).reply);
    return;
  }
  const auto found = calls_.find(xid_of(message));
  if (found == calls_.end() || found->second->reply || found->second->over) return;
  found->second->reply = std::move(message);
  found->second->life = wire->life();
  finish(*found->second);
}

// --- Calls.

void Session::finish(Call& call) {
  call.over = true;
  if (call.waiter) io::ReadyQueue::current().push(io::ReadyItem::of(std::exchange(call.waiter, nullptr)));
}

struct Session::Turn {
  Call& call;
  [[nodiscard]] bool await_ready() const { return call.over; }
  void await_suspend(std::coroutine_handle<> handle) { call.waiter = handle; }
  void await_resume() const {}
};

void Session::watch(std::uint32_t xid, base::TimePoint deadline) {
  const base::TimePoint next = std::min(world_.scheduler.now() + repeat_after, deadline);
  world_.scheduler.at(next, [this, xid, deadline, old = wire_] {
    const auto found = calls_.find(xid);
    if (crashed_ || found == calls_.end() || found->second->over) return;
    if (world_.scheduler.now() >= deadline) return finish(*found->second);
    // Another call may have done so already.
    if (wire_ && wire_ == old) {
      std::exchange(wire_, nullptr)->hang_up();
      back_path_.lost(world_.scheduler.now());
      connect_again();
    }
    watch(xid, deadline);
  });
}

SessionOp<Session::Exchanged> Session::exchange(Request request) {
  if (crashed_) co_await base::fail(Fault::crashed);
  const std::uint32_t xid = ++last_xid_;
  Call call;
  call.message = request.call(xid, traits_.minor_version);
  calls_[xid] = &call;
  const base::TimePoint deadline = world_.scheduler.now() + traits_.patience;
  if (wire_)
    send(call);
  else
    connect_again();
  watch(xid, deadline);
  co_await Turn{call};
  calls_.erase(xid);
  if (crashed_) co_await base::fail(Fault::crashed);
  if (!call.reply) co_await base::fail(world_.scheduler.now() >= deadline ? Fault::silent : Fault::gone);
  co_return Exchanged{std::move(*call.reply), call.life, call.times == 1};
}

SessionOp<Answer> Session::call(Request body) {
  const io::Gate::Hold running(gate_);
  co_await be_in_session();
  co_return co_await run(std::move(body));
}

SessionOp<Answer> Session::run(Request body) {
  const std::uint64_t session = sessions_;
  std::size_t slot = 0;
  for (;;) {
    if (session != sessions_ || !there_) co_await base::fail(Fault::gone);
    const auto free = std::ranges::find(slots_, false, &Slot::busy);
    slot = static_cast<std::size_t>(free - slots_.begin());
    if (free != slots_.end()) break;
    co_await pause(milliseconds(5));
  }
  slots_[slot].busy = true;
  const std::uint32_t client = instance_;
  for (;;) {
    Request request;
    request.add(nfs_opnum4::OP_SEQUENCE,
                SEQUENCE4args{.sa_sessionid = session_,
                              .sa_sequenceid = slots_[slot].sequence,
                              .sa_slotid = static_cast<std::uint32_t>(slot),
                              .sa_highest_slotid = static_cast<std::uint32_t>(slots_.size() - 1),
                              .sa_cachethis = true});
    request.append(body);
    const base::TimePoint sent = world_.scheduler.now();
    auto done = co_await exchange(std::move(request)).as_result();
    if (!done) {
      // What became of the slot nobody knows.
      if (done.error() == Fault::silent && session == sessions_) drop_session();
      co_await base::fail(done.error());
    }
    Answer out(Response(done->reply));
    const auto first = out.response.next();
    const nfsstat4 status = first ? first->status : NFS4ERR_SERVERFAULT;
    if (session != sessions_) co_await base::fail(Fault::gone);
    if (status == NFS4ERR_DELAY) {
      co_await pause(milliseconds(50));
      if (session != sessions_) co_await base::fail(Fault::gone);
      continue;
    }
    slots_[slot].busy = false;
    ++slots_[slot].sequence;
    const auto sequence = status == NFS4_OK ? out.response.body<SEQUENCE4resok>() : std::nullopt;
    if (!sequence) {
      if (session_gone(status)) drop_session();
      co_await base::fail(Fault::gone);
    }
    if (world_.scheduler.now() > renewed_ + lease_time) ++lapses_;
    renewed_ = std::max(renewed_, sent);
    constexpr std::uint32_t down = SEQ4_STATUS_CB_PATH_DOWN | SEQ4_STATUS_CB_PATH_DOWN_SESSION;
    back_channel_down_ = (sequence->sr_status_flags & down) != 0;
    out.sent = sent;
    out.life = done->life;
    out.client = client;
    out.once = done->once;
    co_return std::move(out);
  }
}

void Session::drop_session() {
  there_ = false;
  ++sessions_;
  slots_ = {};
  // Another connection for the next one: what is under way on this one is not to overtake.
  if (wire_) std::exchange(wire_, nullptr)->hang_up();
  for (const auto& [xid, call] : calls_) finish(*call);
}

// --- Setting up.

SessionOp<> Session::be_in_session() {
  while (setting_up_) co_await pause(milliseconds(20));
  if (crashed_) co_await base::fail(Fault::crashed);
  if (there_) co_return;
  setting_up_ = true;
  const auto done = co_await set_up().as_result();
  setting_up_ = false;
  co_await done;
}

SessionOp<> Session::set_up() {
  for (int attempt = 0; attempt < set_up_attempts; ++attempt) {
    if (id_ == 0) {
      const bool known = co_await exchange_id();
      if (!known) {
        co_await pause(random_.between(base::Duration(milliseconds(10)), milliseconds(500)));
        continue;
      }
    }
    const bool made = co_await create_session();
    if (made) {
      co_await complete_reclaim();
      co_return;
    }
    co_await pause(random_.between(base::Duration(milliseconds(10)), milliseconds(500)));
  }
  co_await base::fail(Fault::silent);
}

SessionOp<bool> Session::exchange_id() {
  Request request;
  request.add(nfs_opnum4::OP_EXCHANGE_ID,
              EXCHANGE_ID4args{.eia_clientowner = {traits_.verifier, base::bytes_of(traits_.owner)},
                               .eia_flags = traits_.flags});
  const Exchanged done = co_await exchange(std::move(request));
  Response response(done.reply);
  const auto first = response.next();
  if (!first || first->status != NFS4_OK) co_return false;
  const auto given = response.body<EXCHANGE_ID4resok>();
  if (!given) co_return false;
  id_ = given->eir_clientid;
  if (traits_.state) world_.holders[id_] = traits_.client;
  session_sequence_ = given->eir_sequenceid;
  co_return true;
}

SessionOp<bool> Session::create_session() {
  const callback_sec_parms4 none = callback_sec_parms4::with_SECINFO_AUTH_NONE();
  const std::uint32_t flags = traits_.state ? CREATE_SESSION4_FLAG_CONN_BACK_CHAN : 0;
  Request request;
  request.add(nfs_opnum4::OP_CREATE_SESSION,
              CREATE_SESSION4args{.csa_clientid = id_,
                                  .csa_sequence = session_sequence_,
                                  .csa_flags = flags,
                                  .csa_fore_chan_attrs = channel(static_cast<std::uint32_t>(slots_.size())),
                                  .csa_back_chan_attrs = channel(4),
                                  .csa_cb_program = 0x4000'0000,
                                  .csa_sec_parms = std::span(&none, 1)});
  const base::TimePoint sent = world_.scheduler.now();
  const Exchanged done = co_await exchange(std::move(request));
  Response response(done.reply);
  const auto first = response.next();
  const auto given = first && first->status == NFS4_OK ? response.body<CREATE_SESSION4resok>() : std::nullopt;
  const clientid4 asked = std::exchange(id_, 0);
  if (!given) co_return false;
  id_ = asked;
  session_ = given->csr_sessionid;
  ++session_sequence_;
  session_life_ = done.life;
  slots_ = {};
  if (traits_.state) back_path_.back(world_.scheduler.now());
  ++sessions_;
  there_ = true;
  if (known_id_ != asked) {
    known_id_ = asked;
    ++instance_;
    renewed_ = sent;
  }
  co_return true;
}

SessionOp<> Session::complete_reclaim() {
  if (!traits_.state || completed_ == instance_) co_return;
  const std::uint32_t instance = instance_;
  Request request;
  request.add(nfs_opnum4::OP_RECLAIM_COMPLETE, RECLAIM_COMPLETE4args{false});
  const Answer done = co_await run(std::move(request));
  const nfsstat4 status = done.response.status();
  if (status == NFS4_OK || status == NFS4ERR_COMPLETE_ALREADY) completed_ = instance;
}

SessionOp<> Session::renew() {
  (void)co_await call(Request());
  if (!traits_.state || !std::exchange(back_channel_down_, false) || !there_) co_return;
  Request request;
  request.add(nfs_opnum4::OP_BIND_CONN_TO_SESSION,
              BIND_CONN_TO_SESSION4args{.bctsa_sessid = session_,
                                        .bctsa_dir = channel_dir_from_client4::CDFC4_FORE_OR_BOTH,
                                        .bctsa_use_conn_in_rdma_mode = false});
  const Exchanged done = co_await exchange(std::move(request));
  Response response(done.reply);
  const auto first = response.next();
  if (first && first->status == NFS4_OK) back_path_.back(world_.scheduler.now());
}

}  // namespace braid::sim::cluster
