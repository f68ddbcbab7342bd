#include "nfs4/ops/open_support.h"

#include <memory>
#include <optional>

#include "nfs4/callback/callbacks.h"

namespace braid::nfs4::ops {

io::Op<> settle(const ServerState& server, state::DeferredWork after) {
  if (server.callbacks != nullptr) {
    for (state::Recall& recall : after.recalls) server.callbacks->recall(std::move(recall));
    for (state::LockTurn& turn : after.turns) server.callbacks->notify_lock(std::move(turn));
  }
  if (after.released.empty() && after.unused.empty() && after.leases.empty() && after.more.empty()) co_return;
  for (state::ReleasedRange& range : after.released) {
    if (const auto home = range.open->file_system(); home != nullptr)
      (void)co_await home->unlock(range.open->file(), range.owner, range.range).as_result();
  }
  after.released.clear();
  for (vfs::OpenFileRef& open : after.unused) {
    if (const auto home = open->file_system(); home != nullptr)
      (void)co_await home->close(std::move(open)).as_result();
  }
  // Whoever waited for them may go on when this returns.
  after.leases.clear();
  for (auto& one : after.more) (void)co_await one().as_result();
}

io::Op<> settle_left(const ServerState& server) {
  return settle(server, server.states.with([](state::States& states) { return states.take_left(); }));
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

Result4<state::Share> share_of(std::uint32_t access, std::uint32_t deny) {
  if (access == 0 || access > state::share_both || deny > state::share_both)
    return refuse(nfsstat4::NFS4ERR_INVAL);
  return state::Share{static_cast<std::uint8_t>(access), static_cast<std::uint8_t>(deny)};
}

Op4<bool> may_use(const Place& at, std::uint8_t access) {
  using Bits = vfs::AccessBits;
  const bool reads = (access & state::share_read) != 0;
  const bool writes = (access & state::share_write) != 0;
  const std::uint32_t wanted = (reads ? Bits::read | Bits::execute : 0) | (writes ? Bits::modify : 0);
  std::optional<vfs::Attributes> now;
  const auto granted = co_await at.fs().access(at.who, at.file, wanted, now).as_result();
  if (!granted) co_return refuse(granted.error());
  co_return (!reads || (*granted & (Bits::read | Bits::execute)) != 0) &&
      (!writes || (*granted & Bits::modify) != 0);
}

nfsstat4 crowded_status(const Compound& compound) {
  return compound.minor_version() == 0 ? nfsstat4::NFS4ERR_RESOURCE : nfsstat4::NFS4ERR_SERVERFAULT;
}

Op4<> leave_room(Compound& compound, const vfs::FileSystem& fs, const state::ClientRef& client) {
  if (!fs.few_opens_left()) co_return;
  const bool much = compound.server().states.with(
      [&](const state::States& states) { return states.opens().more_than_its_share(client->id); });
  if (!much) co_return;
  const bool room = co_await evict_for_room(compound);
  if (!room) co_await refuse(crowded_status(compound));
}

Op4<bool> evict_for_room(Compound& compound) {
  const auto gone = co_await compound.server().clients.evict_longest_silent(compound.now()).as_result();
  if (!gone || !*gone) co_return false;
  (void)co_await settle_left(compound.server()).as_result();
  co_return true;
}

io::Op<bool> evict_silent(Compound& compound, std::vector<state::ClientRef> blockers) {
  bool any = false;
  for (const state::ClientRef& blocker : blockers) {
    const auto gone =
        co_await compound.server().clients.evict_if_silent(blocker->id, compound.now()).as_result();
    any = any || (gone && *gone);
  }
  if (any) {
    state::DeferredWork left =
        compound.server().states.with([](state::States& states) { return states.take_left(); });
    co_await settle(compound.server(), std::move(left));
  }
  co_return any;
}

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
