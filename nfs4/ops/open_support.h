// What the operations on opens, locks and delegations share: how they get at state, and what they leave
// behind.
#pragma once

#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/guarded.h"
#include "io/op.h"
#include "io/reactor.h"
#include "nfs4/clients.h"
#include "nfs4/compound/compound.h"
#include "nfs4/op4.h"
#include "nfs4/server_state.h"
#include "nfs4/state/states.h"
#include "xdr/decoder.h"
#include "xdr/encoder.h"

namespace braid::nfs4::ops {

// Closes files, tells the file system of released locks, and calls clients back. Never fails; what goes wrong
// is somebody else's next try.
io::Op<> settle(const ServerState& server, state::DeferredWork after);
// The same for what clients have left that are gone: their locks are others' to take when this ends.
io::Op<> settle_left(const ServerState& server);

// The state that an operation on the current filehandle names by `id`. `file` outlives it.
state::StateUse use_of(Compound& compound, const stateid4& id, const vfs::FileHandle& file);

// The client that the owner of an OPEN, LOCK or LOCKT belongs to: the session's, in 4.0 the named one, whose
// lease this renews. STALE_CLIENTID, EXPIRED.
Result4<state::ClientRef> client_of(Compound& compound, clientid4 named);

// RFC 8881 9.7, RFC 7530 16.16.2: INVAL unless the values are combinations of reading and writing.
Result4<state::Share> share_of(std::uint32_t access, std::uint32_t deny);

inline const std::vector<state::ClientRef>& blockers_of(const state::Refusal& refusal) {
  return refusal.blockers;
}
inline const std::vector<state::ClientRef>& blockers_of(const state::LockRefusal& refusal) {
  return refusal.why.blockers;
}

// Whether the caller may do with this file what `access` (state::share_read, share_write) says; whoever may
// execute it may read it.
Op4<bool> may_use(const Place& at, std::uint8_t access);

// What an OPEN is told that no descriptor is left for. DELAY would have the client try until somebody closes
// a file.
nfsstat4 crowded_status(const Compound& compound);
// Where only a few more files can be opened, those are for clients that have few open, or come later.
Op4<> leave_room(Compound& compound, const vfs::FileSystem& fs, const state::ClientRef& client);

// No descriptor is left: the client that has been silent longest makes room. False: all are alive.
Op4<bool> evict_for_room(Compound& compound);

// Removes those of `blockers` whose lease has run out; true if one is gone now.
io::Op<bool> evict_silent(Compound& compound, std::vector<state::ClientRef> blockers);

// Runs `attempt(States&, DeferredWork&)` under the lock. As long as a client whose lease is over is in the
// way, removes it and tries again: a courteous server (RFC 8881 8.4.2.1) keeps state until somebody minds.
// Whoever ends with NFS4ERR_DELAY for what others have to give back must have done nothing yet: the whole
// operation is executed again when they have.
template <class T, class E, class F>
io::Op<T, E> with_states(Compound& compound, F attempt) {
  for (;;) {
    state::DeferredWork after;
    auto result = compound.server().states.with(
        [&](state::States& states) -> base::Result<T, E> { return attempt(states, after); });
    (void)co_await settle(compound.server(), std::move(after)).as_result();
    if (result || blockers_of(result.error()).empty()) co_return std::move(result);
    const auto evicted = co_await evict_silent(compound, blockers_of(result.error())).as_result();
    if (evicted && *evicted) continue;
    compound.set_waits_for_recall();
    co_return std::move(result);
  }
}

// For what nobody can be in the way of: `attempt(States&, DeferredWork&)` returns a Result4<T>.
template <class T, class F>
Op4<T> with_own_state(Compound& compound, F attempt) {
  state::DeferredWork after;
  auto result = compound.server().states.with(
      [&](state::States& states) -> Result4<T> { return attempt(states, after); });
  (void)co_await settle(compound.server(), std::move(after)).as_result();
  co_return co_await std::move(result);
}

// For attempts that have no result.
inline Result4<bool> done(const Result4<void>& result) {
  if (!result) return refuse(result.error());
  return true;
}

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
