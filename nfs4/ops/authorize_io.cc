#include "nfs4/ops/authorize_io.h"

#include <utility>

#include "nfs4/io_authorizer.h"
#include "nfs4/ops/open_support.h"

namespace braid::nfs4::ops {

namespace {

using state::IoGrant;
using state::Refusal;

// Who brings a stateid need not be who opened the file, and in 4.0 not even of the same client. Then the
// rights of the open are not enough. The owner always may, as with NFSv3.
Op4<IoGrant> check_borrower(const Place& at, std::uint8_t access, IoGrant grant) {
  const bool allowed = co_await may_use(at, access);
  if (allowed) co_return std::move(grant);
  const auto attributes = co_await at.attributes().as_result();
  if (!attributes) co_return refuse(attributes.error());
  if (at.who.uid != attributes->uid) co_return refuse(nfsstat4::NFS4ERR_ACCESS);
  co_return std::move(grant);
}

// Somebody is in the way, or is called back.
Op4<IoGrant> settle_and_retry(Compound& compound, const Place& at, state::StateUse use, std::uint8_t access,
                              Refusal refusal, state::DeferredWork after) {
  (void)co_await settle(compound.server(), std::move(after)).as_result();
  if (refusal.blockers.empty()) co_return refuse(refusal.status);
  auto granted = co_await with_states<IoGrant, Refusal>(compound, [&](state::States& states,
                                                                      state::DeferredWork& aftermath) {
                   return states.authorize(use, access, aftermath);
                 }).as_result();
  if (!granted) co_return refuse(granted.error().status);
  if (granted->borrowed) co_return co_await check_borrower(at, access, std::move(*granted));
  co_return std::move(*granted);
}

}  // namespace

Op4<IoGrant> authorize_io_at(Compound& compound, const Place& at, const stateid4& id, std::uint8_t access) {
  if (!at || at.pseudo()) return refuse(nfsstat4::NFS4ERR_BAD_STATEID);
  if (IoAuthorizer* const authorizer = compound.server().authorizer)
    return authorizer->authorize(compound, at, &id, access);
  const auto named = compound.named(id);
  if (!named) return refuse(named.error());
  // RFC 8881 9.1.2: without a stateid nobody knows whether an open that is yet to be reclaimed denies this.
  const state::SpecialStateId special = state::special_of(*named, compound.minor_version());
  const bool reads_past_denials =
      special == state::SpecialStateId::read_bypass && (access & state::share_write) == 0;
  if (special != state::SpecialStateId::none && !reads_past_denials && compound.server().clients.in_grace())
    return refuse(nfsstat4::NFS4ERR_GRACE);

  state::StateUse use = use_of(compound, *named, at.file->handle());
  use.caller = {at.who.uid, at.who.gid};
  state::DeferredWork after;
  auto granted = compound.server().states.with(
      [&](state::States& states) { return states.authorize(use, access, after); });
  if (!granted)
    return settle_and_retry(compound, at, use, access, std::move(granted.error()), std::move(after));
  if (granted->borrowed) return check_borrower(at, access, std::move(*granted));
  return std::move(*granted);
}

Op4<IoGrant> authorize_io(Compound& compound, const stateid4& id, std::uint8_t access) {
  return authorize_io_at(compound, compound.current(), id, access);
}

Op4<IoGrant> authorize_times(Compound& compound, const stateid4& id, std::uint8_t access) {
  const Place& at = compound.current();
  const stateid4 named = co_await compound.named(id);
  state::StateUse use = use_of(compound, named, at.file->handle());
  use.caller = {at.who.uid, at.who.gid};
  IoGrant grant = co_await compound.server().states.with(
      [&](const state::States& states) { return states.delegations().check_timestamps(use, access); });
  if (grant.borrowed) co_return co_await check_borrower(at, access, std::move(grant));
  co_return std::move(grant);
}

}  // namespace braid::nfs4::ops
