#include "nfs4/ops/open_support.h"

#include "nfs4/ops/state_access.h"
#include "nfs4/state/opens/share.h"

namespace braid::nfs4::ops {

Result4<state::Share> share_of(std::uint32_t access, std::uint32_t deny) {
  if (access == 0 || access > state::share_both || deny > state::share_both)
    return refuse(nfsstat4::NFS4ERR_INVAL);
  return state::Share{static_cast<std::uint8_t>(access), static_cast<std::uint8_t>(deny)};
}

nfsstat4 too_many_open_files(const Compound& compound) {
  return compound.minor_version() == 0 ? nfsstat4::NFS4ERR_RESOURCE : nfsstat4::NFS4ERR_SERVERFAULT;
}

Op4<> leave_room(Compound& compound, const vfs::FileSystem& fs, const state::ClientRef& client) {
  if (!fs.few_opens_left()) co_return;
  const bool much = compound.server().states.with(
      [&](const state::States& states) { return states.opens().more_than_its_share(client->id); });
  if (!much) co_return;
  const bool room = co_await evict_for_room(compound);
  if (!room) co_await refuse(too_many_open_files(compound));
}

Op4<bool> evict_for_room(Compound& compound) {
  const auto gone = co_await compound.server().clients.evict_longest_silent(compound.now()).as_result();
  if (!gone || !*gone) co_return false;
  (void)co_await settle_left(compound.server()).as_result();
  co_return true;
}

}  // namespace braid::nfs4::ops
