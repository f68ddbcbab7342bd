#include "nfs4/state/turns.h"

#include <map>
#include <string>
#include <utility>

#include "nfs4/state/limits.h"

namespace braid::nfs4::state {

namespace {

OwnerTurn no_turn(nfsstat4 status) {
  return {.how = OwnerTurn::How::refuse, .status = status, .reply = {}, .owner = {}};
}

}  // namespace

OwnerTurn OwnerTurns::turn_of(OwnerSequence& sequence, OwnerKey key, std::uint32_t seqid, nfs_opnum4 op,
                              TurnWaiter* waiter) {
  switch (sequence.begin(seqid, op)) {
    case OwnerSequence::Turn::run:
      return {.how = OwnerTurn::How::run, .status = nfsstat4::NFS4_OK, .reply = {}, .owner = std::move(key)};
    case OwnerSequence::Turn::replay:
      return {.how = OwnerTurn::How::replay,
              .status = sequence.status(),
              .reply = sequence.reply(),
              .owner = std::move(key)};
    case OwnerSequence::Turn::bad:
      return no_turn(nfsstat4::NFS4ERR_BAD_SEQID);
    case OwnerSequence::Turn::busy:
      break;
  }
  // A repetition that the duplicate-request cache does not know, over another connection, or a client that
  // does not wait for its own answers. Clients count their seqid up after DELAY, but not after RESOURCE.
  Waiting& waiting = waiting_[key];
  if (waiter == nullptr || waiting.count == waiters_max) return no_turn(nfsstat4::NFS4ERR_RESOURCE);
  waiter->next = nullptr;
  (waiting.last == nullptr ? waiting.first : waiting.last->next) = waiter;
  waiting.last = waiter;
  ++waiting.count;
  return {.how = OwnerTurn::How::wait, .status = nfsstat4::NFS4_OK, .reply = {}, .owner = std::move(key)};
}

OwnerTurn OwnerTurns::begin_open(const ClientRef& client, std::string_view name, std::uint32_t seqid,
                                 base::TimePoint now, DeferredWork& work, TurnWaiter* waiter) {
  if (client->gone()) return no_turn(nfsstat4::NFS4ERR_EXPIRED);
  ClientStates& states = registry_.states_of(client);
  OpenOwner* owner = opens_.owner_for(states, name, now);
  if (owner == nullptr) return no_turn(limit_status(0));
  // RFC 7530 16.18.5: an owner that has not been confirmed begins anew, unless this is its OPEN once more.
  if (!owner->confirmed && !owner->sequence.busy() && !owner->sequence.repeats(seqid, nfs_opnum4::OP_OPEN)) {
    if (owner->latest != nullptr) opens_.end(*owner->latest, work);
    owner->sequence = OwnerSequence();
  }
  OwnerTurn turn = turn_of(owner->sequence, {client->id, StateKind::open, std::string(name)}, seqid,
                           nfs_opnum4::OP_OPEN, waiter);
  if (turn.how == OwnerTurn::How::run) opens_.drop_closed(*owner, work);
  return turn;
}

OwnerTurn OwnerTurns::begin(const stateid4& id, StateKind kind, std::uint32_t seqid, nfs_opnum4 op,
                            base::TimePoint now, DeferredWork& work, TurnWaiter* waiter) {
  if (special_of(id, 0) != SpecialStateId::none) return no_turn(nfsstat4::NFS4ERR_BAD_STATEID);
  const auto found = registry_.ids().find(id, 0);
  if (!found) return no_turn(found.error());
  State& state = **found;
  if (state.client->minor_version() != 0 || state.kind != kind) return no_turn(nfsstat4::NFS4ERR_BAD_STATEID);
  if (state.client->gone()) return no_turn(nfsstat4::NFS4ERR_EXPIRED);
  if (kind == StateKind::lock) {
    LockOwner& owner = *static_cast<LockState&>(state).owner;
    owner.used = now;
    return turn_of(owner.sequence, {state.client->id, kind, owner.name}, seqid, op, waiter);
  }
  if (kind != StateKind::open) return no_turn(nfsstat4::NFS4ERR_BAD_STATEID);
  OpenOwner& owner = *static_cast<OpenState&>(state).owner;
  owner.used = now;
  OwnerTurn turn = turn_of(owner.sequence, {state.client->id, kind, owner.name}, seqid, op, waiter);
  if (turn.how == OwnerTurn::How::run) opens_.drop_closed(owner, work);
  return turn;
}

// An owner whose first OPEN has failed: it may come with any seqid next (RFC 7530 9.1.7), and a repetition
// that is executed again fails or succeeds by itself.
void OwnerTurns::forget_owner_if_unused(const OwnerKey& key) {
  if (key.kind != StateKind::open) return;
  ClientStates& states = *registry_.find_client(key.client);
  const auto found = states.open_owners.find(key.name);
  if (found == states.open_owners.end()) return;
  const OpenOwner& owner = *found->second;
  if (owner.confirmed || owner.opens > 0 || owner.latest != nullptr || owner.sequence.busy()) return;
  states.open_owners.erase(found);
  registry_.forget_if_unused(key.client);
}

TurnWaiter* OwnerTurns::end(const OwnerKey& key, nfsstat4 status, base::Bytes reply) {
  // The client may have gone meanwhile, with all it had; who waits is told so then.
  if (ClientStates* states = registry_.find_client(key.client); states != nullptr) {
    const auto end_in = [&](auto& owners) {
      const auto found = owners.find(key.name);
      if (found != owners.end() && found->second->sequence.busy())
        found->second->sequence.end(status, std::move(reply));
    };
    key.kind == StateKind::open ? end_in(states->open_owners) : end_in(states->lock_owners);
    forget_owner_if_unused(key);
  }
  const auto waiting = waiting_.find(key);
  if (waiting == waiting_.end()) return nullptr;
  TurnWaiter* const first = waiting->second.first;
  waiting_.erase(waiting);
  return first;
}

}  // namespace braid::nfs4::state
