
#include <atomic>
#include <memory>
#include <utility>

#include "nfs4/callback/callbacks.h"
#include "nfs4/ops/io_support.h"
#include "nfs4/ops/open_support.h"
#include "nfs4/options.h"

namespace braid::nfs4::ops {

namespace {

using enum open_delegation_type4;
using enum why_no_delegation4;
using state::DelegationWish;

std::uint32_t want_of(const OPEN4args& args) {
  return args.share_access & OPEN4_SHARE_ACCESS_WANT_DELEG_MASK;
}

bool callable(const Compound& compound, const Opening& opening) {
  callback::Callbacks* const callbacks = compound.server().callbacks;
  return callbacks != nullptr && callbacks->reachable_soon(opening.client->id);
}

std::optional<open_delegation_type4> held_before(open_delegation_type4 type) {
  switch (type) {
    case OPEN_DELEGATE_READ:
    case OPEN_DELEGATE_READ_ATTRS_DELEG:
      return OPEN_DELEGATE_READ;
    case OPEN_DELEGATE_WRITE:
    case OPEN_DELEGATE_WRITE_ATTRS_DELEG:
      return OPEN_DELEGATE_WRITE;
    case OPEN_DELEGATE_NONE:
    case OPEN_DELEGATE_NONE_EXT:
      break;
  }
  return std::nullopt;
}

// Why there is no wish to consider.
std::optional<why_no_delegation4> declined(const Compound& compound, const OPEN4args& args,
                                           const Opening& opening) {
  if (want_of(args) == OPEN4_SHARE_ACCESS_WANT_NO_DELEG) return WND4_NOT_WANTED;
  if (want_of(args) == OPEN4_SHARE_ACCESS_WANT_CANCEL) return WND4_CANCELLED;
  const Delegations policy = compound.server().options.delegations;
  if (policy == Delegations::none) return WND4_RESOURCE;
  if (policy == Delegations::read && (opening.share.access & state::share_write) != 0)
    return WND4_WRITE_DELEG_NOT_SUPP_FTYPE;
  if (!callable(compound, opening)) return WND4_RESOURCE;
  return std::nullopt;
}

// RFC 8881 18.16.3: a client that says what it wants is told why it does not get it.
open_delegation4 none(const Compound& compound, const OPEN4args& args, why_no_delegation4 why) {
  if (compound.minor_version() == 0 || want_of(args) == OPEN4_SHARE_ACCESS_WANT_NO_PREFERENCE)
    return open_delegation4::with_OPEN_DELEGATE_NONE();
  // Nobody is told later that there is one to be had.
  if (why == WND4_CONTENTION)
    return open_delegation4::with_od_whynone(open_none_delegation4::with_ond_server_will_push_deleg(false));
  if (why == WND4_RESOURCE)
    return open_delegation4::with_od_whynone(open_none_delegation4::with_ond_server_will_signal_avail(false));
  return open_delegation4::with_od_whynone(open_none_delegation4::with_default(why));
}

open_delegation4 wire_of(const state::DelegationRequest& request, const stateid4& id) {
  // Names nobody: whoever opens the file on the client's machine is checked by ACCESS.
  const nfsace4 nobody{.type = ACE4_ACCESS_ALLOWED_ACE_TYPE, .flag = 0, .access_mask = 0, .who = {}};
  if (request.type == OPEN_DELEGATE_READ) {
    const auto type = request.timestamps ? OPEN_DELEGATE_READ_ATTRS_DELEG : OPEN_DELEGATE_READ;
    return open_delegation4::with_read(type,
                                       {.stateid = id, .recall = request.recalled, .permissions = nobody});
  }
  const auto type = request.timestamps ? OPEN_DELEGATE_WRITE_ATTRS_DELEG : OPEN_DELEGATE_WRITE;
  // RFC 8881 10.4.1: how large a file may be that is not written back when it is closed. None: what was
  // closed can be seen by NFSv3 clients and local programs, too, and no WRITE is on its way when the
  // delegation is returned.
  const auto none = nfs_space_limit4::with_filesize(0);
  return open_delegation4::with_write(
      type, {.stateid = id, .recall = request.recalled, .space_limit = none, .permissions = nobody});
}

// The lease that a delegation rests on. `broken` is set when somebody waits for it, which may be before the
// delegation is known.
io::Op<vfs::LeaseRef, vfs::Error> take_lease(Compound& compound, const Opening& opening,
                                             const vfs::OpenFileRef& descriptor, open_delegation_type4 type,
                                             std::shared_ptr<std::atomic<bool>> broken) {
  if (descriptor == nullptr) co_return base::fail(vfs::Error::notsupp);
  const ServerState& server = compound.server();
  const vfs::FileHandle file = opening.at.file->handle();
  const auto lease_type = type == OPEN_DELEGATE_WRITE ? vfs::LeaseType::write : vfs::LeaseType::read;
  vfs::LeaseBreak tell = [&server, file, broken = std::move(broken)] {
    broken->store(true);
    recall_all(server, file);
  };
  co_return co_await opening.at.fs().lease(descriptor, lease_type, vfs::LeaseHolder(opening.client->id),
                                           std::move(tell));
}

// Whether the name by which the file was opened is its name still: what happened before the lease was taken,
// the lease does not tell. A holder does not ask for the name again.
Op4<bool> still_named(const Opening& opening) {
  const Place& dir = opening.directory;
  if (!dir) co_return true;
  const auto found = co_await dir.fs().lookup(dir.who, dir.file, opening.name).as_result();
  co_return found && found->file->handle() == opening.at.file->handle();
}

// Who may not write a file has never had a write delegation of it, whatever is claimed.
Op4<bool> may_have_had(const Opening& opening) {
  if (opening.reclaimed != OPEN_DELEGATE_WRITE) co_return true;
  const auto attributes = co_await opening.at.attributes().as_result();
  if (attributes && attributes->uid == opening.at.who.uid) co_return true;
  const auto may = co_await may_use(opening.at, state::share_write).as_result();
  co_return may && *may;
}

// Who reclaims a delegation does not look whether the file has changed meanwhile. Without it, it does.
Op4<> check_unchanged(const Compound& compound, const Opening& opening) {
  if (opening.reclaimed != OPEN_DELEGATE_READ) co_return;
  const auto attributes = co_await opening.at.attributes().as_result();
  if (!attributes) co_await refuse(attributes.error());
  if (!compound.server().clients.watched_since(attributes->ctime))
    co_await refuse(nfsstat4::NFS4ERR_RECLAIM_BAD);
}

// The times of a file are said by whoever may write it: a reader's say would be somebody else's file changed.
Op4<bool> keeps_times(const Opening& opening, open_delegation_type4 type) {
  if (!opening.timestamps) co_return false;
  if (type == OPEN_DELEGATE_WRITE) co_return true;
  const auto may = co_await may_use(opening.at, state::share_write).as_result();
  co_return may && *may;
}

Op4<> describe_file(const Opening& opening, state::DelegationRequest& request) {
  if (request.type != OPEN_DELEGATE_WRITE) co_return;
  const auto attributes = co_await opening.at.attributes().as_result();
  if (!attributes) co_await refuse(attributes.error());
  request.change = attributes->change;
}

}  // namespace

void recall_all(const ServerState& server, const vfs::FileHandle& file) {
  state::DeferredWork after;
  server.states.with(
      [&](state::States& states) { states.delegations().recall_all(file, server.clock.now(), after); });
  for (state::Recall& recall : after.recalls) server.callbacks->recall(std::move(recall));
}

void plan_delegation(const Compound& compound, const OPEN4args& args, Opening& opening) {
  opening.timestamps = (args.share_access & OPEN4_SHARE_ACCESS_WANT_DELEG_TIMESTAMPS) != 0;
  opening.instead = (args.share_access & OPEN4_SHARE_ACCESS_WANT_OPEN_XOR_DELEGATION) != 0;
  if (args.claim.claim == open_claim_type4::CLAIM_PREVIOUS) {
    opening.reclaimed = held_before(*args.claim.delegate_type());
    return;
  }
  if (opening.delegated) return;
  if (const auto why = declined(compound, args, opening)) {
    opening.no_wish = *why;
    return;
  }
  opening.wish =
      want_of(args) == OPEN4_SHARE_ACCESS_WANT_READ_DELEG ? DelegationWish::read : DelegationWish::any;
}

Op4<GivenDelegation> give_delegation(Compound& compound, const OPEN4args& args, Opening& opening,
                                     const state::OpenAnswer& noted) {
  GivenDelegation out;
  const bool reclaim = opening.reclaimed.has_value();
  if (!reclaim && !noted.delegation) {
    out.wire =
        none(compound, args, opening.wish == DelegationWish::none ? opening.no_wish : noted.no_delegation);
    co_return out;
  }
  const bool had = co_await may_have_had(opening);
  if (!had) {
    out.wire = none(compound, args, WND4_RESOURCE);
    co_return out;
  }
  // Not the state's own, perhaps: a second description of the file would be in the lease's way.
  (void)co_await opening.at.fs().close(std::move(opening.descriptor)).as_result();
  state::DelegationRequest request;
  request.type = reclaim ? *opening.reclaimed : *noted.delegation;
  request.reclaim = reclaim;
  request.timestamps = co_await keeps_times(opening, request.type);
  request.now = compound.now();
  const auto broken = std::make_shared<std::atomic<bool>>(false);
  auto lease = co_await take_lease(compound, opening, noted.descriptor, request.type, broken).as_result();
  if (lease) {
    const bool named = co_await still_named(opening);
    if (named)
      request.lease = std::move(*lease);
    else
      lease = base::fail(vfs::Error::delay);
  }
  co_await check_unchanged(compound, opening);
  const auto described = co_await describe_file(opening, request).as_result();
  // RFC 8881 9.11: what was held before is given again; if it must not last, with the word to return it.
  request.recalled = reclaim && (!lease || !described || !callable(compound, opening));
  std::optional<stateid4> id;
  if (reclaim || (lease && described))
    id = compound.server().states.with(
        [&](state::States& states) { return states.delegations().give(noted, request); });
  if (!id) {
    const bool wanted = lease.has_value() || lease.error() == vfs::Error::delay;
    out.wire = none(compound, args, wanted ? WND4_CONTENTION : WND4_RESOURCE);
    co_return out;
  }
  if (broken->load()) recall_all(compound.server(), opening.at.file->handle());
  co_return GivenDelegation{wire_of(request, *id), *id, true};
}

}  // namespace braid::nfs4::ops
