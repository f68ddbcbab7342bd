// Operations of NFSv4.0 in the sequence of their owner: one at a time, and a repeated one is answered as
// before (RFC 7530 9.1.7). Later minor versions have sessions instead.
#pragma once

#include <coroutine>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/guarded.h"
#include "io/op.h"
#include "io/reactor.h"
#include "nfs4/compound/compound.h"
#include "nfs4/op4.h"
#include "nfs4/ops/state_access.h"
#include "nfs4/server_state.h"
#include "nfs4/state/states.h"
#include "xdr/decoder.h"
#include "xdr/encoder.h"

namespace braid::nfs4::ops {

// The bytes of a result, for OwnerSequence; and the result again. What it refers to is copied into the call's
// arena. Nothing when memory is short.
template <class Body>
base::Bytes kept(Compound& compound, const Body& body) {
  xdr::Encoder out(compound.cursor());
  encode(out, body);
  const xdr::Message message = out.finish();
  const auto memory = message.bytes.in_memory();
  return memory ? memory->bytes() : base::Bytes();
}

bool copy_views(Compound& compound, stateid4& body);
bool copy_views(Compound& compound, OPEN_CONFIRM4resok& body);
bool copy_views(Compound& compound, OPEN_DOWNGRADE4resok& body);
bool copy_views(Compound& compound, OPEN4resok& body);
bool copy_views(Compound& compound, LOCK4resok& body);
bool copy_views(Compound& compound, LOCK4denied& body);

template <class Body>
std::optional<Body> recalled(Compound& compound, base::BytesView bytes) {
  xdr::Encoder out(compound.cursor());
  out.opaque_fixed(bytes);
  const xdr::Message message = out.finish();
  xdr::Decoder in(message.bytes, compound.arena());
  Body body;
  if (!out.ok() || !decode(in, body) || !copy_views(compound, body)) return std::nullopt;
  return body;
}

// An operation that waits for the one before it of its 4.0 owner.
class TurnWait : public state::TurnWaiter {
 public:
  explicit TurnWait(io::Reactor& reactor) : reactor_(reactor) {}
  // Resumes all of the list. Any thread.
  static void wake(state::TurnWaiter* waiting) {
    while (waiting != nullptr) {
      auto* one = static_cast<TurnWait*>(waiting);
      waiting = waiting->next;
      // From here on it belongs to its own thread again.
      one->reactor_.post(one->handle_);
    }
  }

 protected:
  std::coroutine_handle<> handle_;

 private:
  io::Reactor& reactor_;
};

// co_await TurnBegin(...): what `begin(States&, DeferredWork&, TurnWaiter*)` said; How::wait when it has
// waited, and is to be called again.
template <class F>
class TurnBegin final : private TurnWait {
 public:
  TurnBegin(base::Guarded<state::States>& states, const F& begin, state::DeferredWork& after)
      : TurnWait(*io::Reactor::current()), states_(states), begin_(begin), after_(after) {}
  [[nodiscard]] bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<> handle) {
    handle_ = handle;
    turn_ = states_.with([&](state::States& states) { return begin_(states, after_, this); });
    return turn_.how == state::OwnerTurn::How::wait;
  }
  state::OwnerTurn await_resume() { return std::move(turn_); }

 private:
  base::Guarded<state::States>& states_;
  const F& begin_;
  state::DeferredWork& after_;
  state::OwnerTurn turn_;
};

// The turn of a 4.0 operation, once those of its owner that came before it have ended (RFC 7530 9.1.7).
template <class F>
io::Op<state::OwnerTurn> await_turn(Compound& compound, F begin) {
  state::OwnerTurn turn;
  do {
    state::DeferredWork after;
    turn = co_await TurnBegin<F>(compound.server().states, begin, after);
    (void)co_await settle(compound.server(), std::move(after)).as_result();
  } while (turn.how == state::OwnerTurn::How::wait);
  co_return turn;
}
// The reply is kept; who waited goes on.
inline void end_turn(Compound& compound, const state::OwnerTurn& turn, nfsstat4 status, base::Bytes reply) {
  TurnWait::wake(compound.server().states.with(
      [&](state::States& states) { return states.turns().end(turn.owner, status, std::move(reply)); }));
}

// A 4.0 operation in its owner's sequence (RFC 7530 9.1.7): `body` runs if it is new; otherwise it is
// answered as before, or refused.
template <class Ok>
Op4<Ok> in_turn(Compound& compound, state::OwnerTurn turn, io::Op<Ok, nfsstat4> body) {
  if (turn.how == state::OwnerTurn::How::refuse || turn.status != nfsstat4::NFS4_OK)
    co_return refuse(turn.status);
  if (turn.how == state::OwnerTurn::How::replay) {
    auto again = recalled<Ok>(compound, turn.reply);
    if (!again) co_return refuse(nfsstat4::NFS4ERR_RESOURCE);
    co_return std::move(*again);
  }
  auto result = co_await std::move(body).as_result();
  base::Bytes bytes = result ? kept(compound, *result) : base::Bytes();
  end_turn(compound, turn, result ? nfsstat4::NFS4_OK : result.error(), std::move(bytes));
  co_return std::move(result);
}

// An operation that names its owner by a stateid of this kind.
struct OwnerStep {
  stateid4 id;
  state::StateKind kind = state::StateKind::open;
  std::uint32_t seqid = 0;
  nfs_opnum4 op{};
};
io::Op<state::OwnerTurn> begin_turn(Compound& compound, OwnerStep step);

// In 4.0 in the owner's sequence; later minor versions have sessions instead.
template <class Ok>
Op4<Ok> in_sequence(Compound& compound, OwnerStep step, io::Op<Ok, nfsstat4> body) {
  if (compound.minor_version() > 0) co_return co_await std::move(body);
  auto turn = co_await begin_turn(compound, step).as_result();
  if (!turn) co_return refuse(nfsstat4::NFS4ERR_SERVERFAULT);
  co_return co_await in_turn(compound, std::move(*turn), std::move(body));
}

}  // namespace braid::nfs4::ops
