#include "nfs4/ops/open_support.h"

#include "base/log.h"
#include "nfs4/ops/state_access.h"
#include "nfs4/state/opens/share.h"

namespace braid::nfs4::ops {

Result4<state::Share> share_of(std::uint32_t access, std::uint32_t deny) {
  if (access == 0 || access > state::share_both || deny > state::share_both)
    return refuse(nfsstat4::NFS4ERR_INVAL);
  return state::Share{static_cast<std::uint8_t>(access), static_cast<std::uint8_t>(deny)};
}

bool over_share(Compound& compound, const state::Client& client, state::StateKind kind) {
  const auto check = compound.server().states.with(
      [&](state::States& states) { return states.check_share(client.id, kind, compound.now()); });
  if (check.logged)
    base::log_event(base::Level::warning, "client_over_share",
                    "client={:016x} peer={}: it has more {} than its share, and few descriptors are left",
                    client.id, client.intro.peer,
                    kind == state::StateKind::lock ? "locked files" : "open files");
  return check.over;
}

Op4<> leave_room(Compound& compound, const vfs::FileSystem& fs, const state::ClientRef& client) {
  if (!fs.few_opens_left() || !over_share(compound, *client, state::StateKind::open)) co_return;
  const bool room = co_await evict_for_room(compound);
  if (!room) co_await refuse(state::limit_status(compound.minor_version()));
}

Op4<bool> evict_for_room(Compound& compound) {
  const auto gone = co_await compound.server().clients.evict_longest_silent(compound.now()).as_result();
  if (!gone || !*gone) co_return false;
  (void)co_await settle_left(compound.server()).as_result();
  co_return true;
}

}  // namespace braid::nfs4::ops
