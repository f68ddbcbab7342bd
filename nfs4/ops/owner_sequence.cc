#include "nfs4/ops/owner_sequence.h"

namespace braid::nfs4::ops {

bool copy_views(Compound& /*compound*/, stateid4& /*body*/) { return true; }
bool copy_views(Compound& /*compound*/, OPEN_CONFIRM4resok& /*body*/) { return true; }
bool copy_views(Compound& /*compound*/, OPEN_DOWNGRADE4resok& /*body*/) { return true; }
bool copy_views(Compound& /*compound*/, LOCK4resok& /*body*/) { return true; }

bool copy_views(Compound& compound, LOCK4denied& body) {
  const auto copy = compound.keep(body.owner.owner);
  if (copy) body.owner.owner = base::bytes_of(*copy);
  return copy.has_value();
}

bool copy_views(Compound& /*compound*/, OPEN4resok& body) {
  // The ACE of a delegation names nobody (delegation_of_open.cc).
  if (auto* read = body.delegation.read(); read != nullptr) read->permissions.who = {};
  if (auto* write = body.delegation.write(); write != nullptr) write->permissions.who = {};
  return true;
}

io::Op<state::OwnerTurn> begin_turn(Compound& compound, OwnerStep step) {
  const auto begin = [&](state::States& states, state::DeferredWork& after, state::TurnWaiter* waiter) {
    return states.turns().begin(step.id, step.kind, step.seqid, step.op, compound.now(), after, waiter);
  };
  co_return co_await await_turn(compound, begin);
}

}  // namespace braid::nfs4::ops
