#include "nfs4/ops/io_support.h"

#include <optional>
#include <utility>

#include "nfs4/io_authorizer.h"
#include "nfs4/ops/file_operations.h"
#include "nfs4/ops/state_access.h"
#include "nfs4/state/opens/share.h"

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
                                                                      state::DeferredWork& deferred) {
                   return states.authorize(use, access, deferred);
                 }).as_result();
  if (!granted) co_return refuse(granted.error().status);
  if (granted->borrowed) co_return co_await check_borrower(at, access, std::move(*granted));
  co_return std::move(*granted);
}

}  // namespace

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

Op4<vfs::OpenFileRef> open_for_io(Compound& compound, const Place& at, const stateid4& id,
                                  vfs::OpenAccess access) {
  const bool writes = vfs::includes(access, vfs::OpenAccess::write);
  state::IoGrant grant =
      co_await authorize_io_at(compound, at, id, writes ? state::share_write : state::share_read);
  if (grant.open != nullptr) co_return std::move(grant.open);
  // The owner override is that of READ and WRITE: a client may have opened the file before its mode changed.
  auto open = co_await at.fs().open(at.who, at.file, access, vfs::OpenRule::owner_override).as_result();
  if (!open) co_await refuse_on_file(compound, at, open.error());
  co_return std::move(*open);
}

ByteChange::ByteChange(const Compound& compound, const IoGrant* grant)
    : ByteChange(grant != nullptr && grant->client != nullptr ? grant->client : compound.client()) {}

ByteChange::ByteChange(state::ClientRef client)
    : client_(std::move(client)), begun_(client_ != nullptr && client_->changes().begin()) {}

ByteChange::~ByteChange() {
  if (begun_) client_->changes().end();
}

Result4<void> ByteChange::admitted() const {
  if (begun_ || client_ == nullptr) return {};
  return refuse(client_->gone() ? nfsstat4::NFS4ERR_EXPIRED : nfsstat4::NFS4ERR_DELAY);
}

}  // namespace braid::nfs4::ops
