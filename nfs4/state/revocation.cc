// What an administrator takes back (RFC 8881 18.46.3, SEQ4_STATUS_ADMIN_STATE_REVOKED): it locks nobody out
// any more, but its stateids stay until the client has learned of it.
#include "nfs4/state/file_states.h"
#include "nfs4/state/records.h"

namespace braid::nfs4::state {

void FileStates::revoke(LockState& lock, Aftermath& after) {
  FileState& file = *lock.file;
  detach(lock, after);
  lock.file = nullptr;
  lock.ranges = RangeSet();
  lock.revoked = true;
  ++find_client(lock.client->id)->admin_revoked;
  tell_waiters(file, whole_file, after);
}

// Its locks have been revoked before it.
void FileStates::revoke(OpenState& open, Aftermath& after) {
  ClientStates& states = *find_client(open.client->id);
  OpenOwner& owner = *open.owner;
  detach(open, after);
  open.owner = nullptr;
  open.revoked = true;
  ++states.admin_revoked;
  if (owner.opens == 0) states.open_owners.erase(states.open_owners.find(owner.name));
}

void FileStates::freed_revoked(State& state) {
  ClientStates& states = *find_client(state.client->id);
  if (--states.admin_revoked == 0) state.client->lower_status(SEQ4_STATUS_ADMIN_STATE_REVOKED);
}

void FileStates::revoke_client(clientid4 client) {
  ClientStates* states = find_client(client);
  if (states == nullptr || states->client->minor_version() == 0) return;
  Aftermath& after = left_;
  tidy_queues([&](LockQueue& queue) { queue.forget_client(client); }, after);
  const auto each = [&](StateKind kind, auto&& f) {
    for (State* state = states->states; state != nullptr; state = state->next)
      if (state->kind == kind && !state->revoked) f(*state);
  };
  each(StateKind::lock, [&](State& state) { revoke(static_cast<LockState&>(state), after); });
  each(StateKind::open, [&](State& state) { revoke(static_cast<OpenState&>(state), after); });
  each(StateKind::delegation, [&](State& state) { revoke(static_cast<DelegationState&>(state), after); });
  if (states->admin_revoked > 0) states->client->raise_status(SEQ4_STATUS_ADMIN_STATE_REVOKED);
}

}  // namespace braid::nfs4::state
