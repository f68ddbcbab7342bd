#include "nfs4/ops/lock_support.h"

#include <utility>
#include <vector>

#include "nfs4/ops/state_access.h"

namespace braid::nfs4::ops {

LockWish wish_of(nfs_lock_type4 type) {
  switch (type) {
    case nfs_lock_type4::READ_LT:
      return {state::LockMode::read, false};
    case nfs_lock_type4::WRITE_LT:
      return {state::LockMode::write, false};
    case nfs_lock_type4::READW_LT:
      return {state::LockMode::read, true};
    case nfs_lock_type4::WRITEW_LT:
      return {state::LockMode::write, true};
  }
  return {};
}

Result4<state::ByteRange> range_of(offset4 offset, length4 length) {
  const auto range = state::range_of(offset, length);
  if (!range) return refuse(nfsstat4::NFS4ERR_INVAL);
  return *range;
}

Result4<LOCK4denied> denied(Compound& compound, const state::LockHolder& holder) {
  const auto name = compound.keep(base::bytes_of(holder.owner));
  if (!name) return refuse(nfsstat4::NFS4ERR_DELAY);
  const state::ClientRef own = compound.client();
  const bool is_own = own != nullptr && own->id == holder.client;
  const clientid4 client =
      is_own ? holder.client : state::alias_of(holder.client, compound.server().clients.hash_key());
  return LOCK4denied{.offset = holder.held.range.first,
                     .length = state::length_of(holder.held.range),
                     .locktype = holder.held.type == state::LockMode::write ? nfs_lock_type4::WRITE_LT
                                                                            : nfs_lock_type4::READ_LT,
                     .owner = {.clientid = client, .owner = base::bytes_of(*name)}};
}

LOCK4denied denied(const vfs::LockConflict& conflict) {
  return {
      .offset = conflict.range.offset,
      .length = conflict.range.length,
      .locktype = conflict.type == vfs::LockType::write ? nfs_lock_type4::WRITE_LT : nfs_lock_type4::READ_LT,
      .owner = {.clientid = 0, .owner = base::bytes_of("local")}};
}

Op4<> check_lockable(Compound& compound) {
  if (compound.current().pseudo()) co_await refuse(nfsstat4::NFS4ERR_ISDIR);
  const auto attributes = co_await compound.current().attributes().as_result();
  if (!attributes) co_await refuse(attributes.error());
  co_await compound.check_regular(attributes->type);
}

io::Op<> look_for_local_waits(const ServerState& server) {
  std::vector<state::LocalWait> waits =
      server.states.with([](const state::States& states) { return states.locks().local_waits(); });
  if (waits.empty()) co_return;
  state::DeferredWork after;
  Pace pace;
  for (state::LocalWait& wait : waits) {
    co_await pace.step();
    if (wait.open == nullptr) continue;
    if (const auto home = wait.open->file_system(); home != nullptr) {
      const auto conflict =
          co_await home
              ->test_lock(wait.open->file(), wait.id, vfs::range_of(wait.wanted.range), wait.wanted.type)
              .as_result();
      if (conflict && !*conflict)
        server.states.with([&](state::States& states) { states.locks().local_gone(wait, after); });
    }
    after.unused.push_back(std::move(wait.open));
  }
  (void)co_await settle(server, std::move(after)).as_result();
}

}  // namespace braid::nfs4::ops
