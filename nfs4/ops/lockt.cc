#include "nfs4/ops/lock_support.h"
#include "nfs4/ops/open_operations.h"
#include "nfs4/ops/state_access.h"

namespace braid::nfs4::ops {

namespace {

// The conflict that a lock would meet; nothing if it would be granted.
Op4<std::optional<LOCK4denied>> conflict(Compound& compound, const LOCKT4args& args) {
  co_await check_lockable(compound);
  const state::ByteRange range = co_await range_of(args.offset, args.length);
  const state::ClientRef client = co_await client_of(compound, args.owner.clientid);
  // RFC 8881 18.11.3: nobody knows yet who will reclaim what.
  if (compound.server().clients.in_grace()) co_return refuse(nfsstat4::NFS4ERR_GRACE);
  const Place& at = compound.current();
  const state::LockMode mode = wish_of(args.locktype).mode;
  const std::string_view owner = base::text_of(args.owner.owner);

  std::optional<vfs::LockOwnerId> known;
  const auto holder = compound.server().states.with([&](const state::States& states) {
    known = states.locks().owner_id(client->id, owner);
    return states.locks().test(client->id, owner, at.file->handle(), {range, mode});
  });
  if (holder) co_return co_await denied(compound, *holder);

  const auto local = co_await at.fs()
                         .test_lock(at.file, known.value_or(vfs::LockOwnerId{}), vfs::range_of(range), mode)
                         .as_result();
  if (!local && local.error() != vfs::Error::notsupp) co_return refuse(local.error());
  if (local && *local) co_return denied(**local);
  co_return std::nullopt;
}

}  // namespace

Op4<void, LOCK4denied> lockt(Compound& compound, const LOCKT4args& args) {
  auto found = co_await conflict(compound, args).as_result();
  if (!found) co_await refuse_without<LOCK4denied>(found.error());
  if (*found) co_await refuse(nfsstat4::NFS4ERR_DENIED, **found);
}

}  // namespace braid::nfs4::ops
