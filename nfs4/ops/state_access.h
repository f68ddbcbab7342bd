// How operations get at the state of clients, and what they leave behind for afterwards.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "io/op.h"
#include "nfs4/clients.h"
#include "nfs4/compound/compound.h"
#include "nfs4/op4.h"
#include "nfs4/server_state.h"
#include "nfs4/state/states.h"

namespace braid::nfs4::ops {

// Other requests of this thread run first, those that come meanwhile too.
io::Op<> let_others_run();

// For loops that call the file system: a step before each call lets others run now and then, since what does
// not wait does not suspend.
class Pace {
 public:
  io::Op<> step();

 private:
  static constexpr std::size_t calls_at_once = 32;
  std::size_t calls_ = 0;
};

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

inline const std::vector<state::ClientRef>& blockers_of(const state::Refusal& refusal) {
  return refusal.blockers;
}
inline const std::vector<state::ClientRef>& blockers_of(const state::LockRefusal& refusal) {
  return refusal.why.blockers;
}

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

// For what is done in portions: `attempt(States&, DeferredWork&)` returns a Result4<bool>, and is made again
// while that says true.
template <class F>
Op4<> in_portions(Compound& compound, F attempt) {
  // Not in the condition: g++ 12 loses the error of an Op that is awaited there.
  for (;;) {
    const bool more = co_await with_own_state<bool>(compound, attempt);
    if (!more) co_return;
    (void)co_await let_others_run().as_result();
  }
}

}  // namespace braid::nfs4::ops
