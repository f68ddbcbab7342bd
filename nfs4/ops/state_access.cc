#include "nfs4/ops/state_access.h"

#include "nfs4/callback/callbacks.h"

namespace braid::nfs4::ops {

io::Op<> Pace::step() {
  if (++calls_ % calls_at_once != 0) return base::Result<void>();
  return let_others_run();
}

io::Op<> let_others_run() {
  if (io::Reactor* const reactor = io::Reactor::current(); reactor != nullptr) co_await reactor->next_turn();
}

io::Op<> settle(const ServerState& server, state::DeferredWork after) {
  if (server.callbacks != nullptr) {
    for (state::Recall& recall : after.recalls) server.callbacks->recall(std::move(recall));
    for (state::LockTurn& turn : after.turns) server.callbacks->notify_lock(std::move(turn));
  }
  if (after.released.empty() && after.unused.empty() && after.leases.empty() && after.more.empty()) co_return;
  Pace pace;
  for (state::ReleasedRange& range : after.released) {
    co_await pace.step();
    if (const auto home = range.open->file_system(); home != nullptr)
      (void)co_await home->unlock(range.open->file(), range.owner, range.range).as_result();
  }
  after.released.clear();
  for (vfs::OpenFileRef& open : after.unused) {
    co_await pace.step();
    if (const auto home = open->file_system(); home != nullptr)
      (void)co_await home->close(std::move(open)).as_result();
  }
  // Whoever waited for them may go on when this returns.
  after.leases.clear();
  for (auto& one : after.more) (void)co_await one().as_result();
}

io::Op<> settle_left(const ServerState& server) {
  for (bool more = true; more;) {
    state::DeferredWork left = server.states.with([&](state::States& states) {
      state::DeferredWork work = states.take_left();
      more = states.leaving();
      return work;
    });
    (void)co_await settle(server, std::move(left)).as_result();
    if (more) co_await let_others_run();
  }
}

state::StateUse use_of(Compound& compound, const stateid4& id, const vfs::FileHandle& file) {
  return {.id = id,
          .minor_version = compound.minor_version(),
          .client = compound.client(),
          .file = file,
          .now = compound.began()};
}

Result4<state::ClientRef> client_of(Compound& compound, clientid4 named) {
  // RFC 8881 18.16.3: with sessions the client id in the owner is ignored.
  if (auto client = compound.client(); client != nullptr) return client;
  return compound.server().clients.find_and_renew_40(named, compound.now());
}

io::Op<bool> evict_silent(Compound& compound, std::vector<state::ClientRef> blockers) {
  bool any = false;
  for (const state::ClientRef& blocker : blockers) {
    const auto gone =
        co_await compound.server().clients.evict_if_silent(blocker->id, compound.now()).as_result();
    any = any || (gone && *gone);
  }
  if (any) (void)co_await settle_left(compound.server()).as_result();
  co_return any;
}

}  // namespace braid::nfs4::ops
