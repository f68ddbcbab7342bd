// OPEN: the claims, and what they have in common.
#include <utility>

#include "nfs4/attributes/reply.h"
#include "nfs4/names.h"
#include "nfs4/ops/file_operations.h"
#include "nfs4/ops/io_support.h"
#include "nfs4/ops/open_operations.h"
#include "nfs4/ops/open_support.h"
#include "nfs4/ops/owner_sequence.h"
#include "nfs4/ops/state_access.h"

namespace braid::nfs4::ops {

namespace {

constexpr std::uint32_t wants_41 = OPEN4_SHARE_ACCESS_WANT_DELEG_MASK |
                                   OPEN4_SHARE_ACCESS_WANT_SIGNAL_DELEG_WHEN_RESRC_AVAIL |
                                   OPEN4_SHARE_ACCESS_WANT_PUSH_DELEG_WHEN_UNCONTENDED;
constexpr std::uint32_t wants_42 =
    OPEN4_SHARE_ACCESS_WANT_DELEG_TIMESTAMPS | OPEN4_SHARE_ACCESS_WANT_OPEN_XOR_DELEGATION;

// INVAL for bits that this minor version does not have.
Result4<state::Share> wanted_share(const Compound& compound, const OPEN4args& args) {
  std::uint32_t known = OPEN4_SHARE_ACCESS_BOTH;
  if (compound.minor_version() >= 1) known |= wants_41;
  if (compound.minor_version() >= 2) known |= wants_42;
  const std::uint32_t want = args.share_access & OPEN4_SHARE_ACCESS_WANT_DELEG_MASK;
  if ((args.share_access & ~known) != 0 || want > OPEN4_SHARE_ACCESS_WANT_CANCEL)
    return refuse(nfsstat4::NFS4ERR_INVAL);
  return share_of(args.share_access & OPEN4_SHARE_ACCESS_BOTH, args.share_deny);
}

// The claims of 4.1; and only by name, and without a delegation, is there anything to create.
Result4<void> check_claim(const Compound& compound, const OPEN4args& args) {
  const open_claim_type4 claim = args.claim.claim;
  const bool since_41 = claim == open_claim_type4::CLAIM_FH ||
                        claim == open_claim_type4::CLAIM_DELEG_CUR_FH ||
                        claim == open_claim_type4::CLAIM_DELEG_PREV_FH;
  if (since_41 && compound.minor_version() == 0) return refuse(nfsstat4::NFS4ERR_BADXDR);
  if (args.openhow.opentype == opentype4::OPEN4_CREATE && claim != open_claim_type4::CLAIM_NULL)
    return refuse(nfsstat4::NFS4ERR_INVAL);
  return {};
}

Result4<void> check_grace(const Compound& compound, const Opening& opening) {
  Clients& clients = compound.server().clients;
  return opening.reclaim ? clients.begin_reclaim(*opening.client, compound.now())
                         : clients.admit_new(*opening.client);
}

// A new open by the holder of a delegation would break the lease that the delegation rests on: it uses the
// delegation's descriptor, if its caller might open the file. False: there is none that fits.
Op4<bool> share_delegated(Compound& compound, Opening& opening, const vfs::Attributes& attributes) {
  const Place& at = opening.at;
  vfs::OpenFileRef held = compound.server().states.with([&](const state::States& states) {
    return states.delegations().descriptor_of(*opening.client, at.file->handle(), opening.share.access);
  });
  if (held == nullptr) co_return false;
  const bool allowed = co_await may_use(at, opening.share.access);
  // Under a delegation the client has let the owner open the file when that was still allowed.
  if (!allowed && !(opening.delegated && at.who.uid == attributes.uid))
    co_return refuse(nfsstat4::NFS4ERR_ACCESS);
  opening.descriptor = std::move(held);
  co_return true;
}

vfs::VfsOp<vfs::OpenFileRef> open_file(const Opening& opening) {
  const Place& at = opening.at;
  const vfs::OpenRule rule = opening.reclaim ? vfs::OpenRule::owner_override : vfs::OpenRule::caller;
  if (opening.might_write_delegated() && opening.access() != vfs::OpenAccess::both) {
    auto both = co_await at.fs().open(at.who, at.file, vfs::OpenAccess::both, rule).as_result();
    if (both || both.error() != vfs::Error::acces) co_return std::move(both);
  }
  co_return co_await at.fs().open(at.who, at.file, opening.access(), rule);
}

state::OpenRequest request_of(const Compound& compound, const Opening& opening) {
  return {.client = opening.client,
          .minor_version = compound.minor_version(),
          .owner = opening.owner,
          .file = opening.at.file->handle(),
          .share = opening.share,
          .opener = {opening.at.who.uid, opening.at.who.gid},
          .descriptor = opening.descriptor,
          .wish = opening.wish,
          .reclaim = opening.reclaim,
          .also_writes = opening.truncate,
          .made = opening.made,
          .now = compound.now()};
}

// A lease is in the way. If it is the client's own, it ends. Another holder has been asked, or is asked now,
// or has been silent for so long that it is removed.
Op4<> make_way(Compound& compound, const Opening& opening) {
  const state::OpenRequest request = request_of(compound, opening);
  const auto attempt = [&](state::States& states,
                           state::DeferredWork& after) -> base::Result<bool, state::Refusal> {
    auto admitted = states.opens().admit(request, after);
    if (!admitted) return base::fail(std::move(admitted.error()));
    states.delegations().give_up_own(request.file, *request.client, request.now, after);
    return true;
  };
  const auto way = co_await with_states<bool, state::Refusal>(compound, attempt).as_result();
  if (!way) co_await refuse(way.error().status);
}

// --- One function per claim: each leaves the open file in `opening`.

Op4<> open_name(Compound& compound, std::string_view name, Opening& opening) {
  const Place dir = compound.current();
  LookedUp there = co_await compound.look_up(dir, name);
  opening.at = std::move(there.place);
  opening.seen = there.seen;
  co_await open_place(compound, opening);
  if (dir.pseudo()) co_return;
  opening.directory = dir;
  opening.name = name;
  const auto attributes = co_await dir.attributes().as_result();
  if (!attributes) co_await refuse(attributes.error());
  opening.cinfo = {.atomic_ = true, .before = attributes->change, .after = attributes->change};
}

Op4<> claim_null(Compound& compound, const OPEN4args& args, Opening& opening) {
  const std::string_view name = *args.claim.file();
  co_await check_name(name);
  if (const createhow4* how = args.openhow.how(); how != nullptr) {
    const Place dir = *co_await compound.current_in_export();
    co_await create_name(compound, dir, name, *how, opening);
  } else {
    co_await open_name(compound, name, opening);
  }
}

Op4<> claim_fh(Compound& compound, Opening& opening) {
  opening.at = compound.current();
  co_await open_place(compound, opening);
}

// The delegation must be the client's own, and of this file.
Op4<> check_delegation(Compound& compound, stateid4 id, const Opening& opening) {
  const stateid4 named = co_await compound.named(id);
  const vfs::FileHandle file = opening.at.file->handle();
  const state::StateUse use = use_of(compound, named, file);
  co_await compound.server().states.with(
      [&](const state::States& states) { return states.delegations().check(use); });
}

Op4<> claim_delegate_cur(Compound& compound, const open_claim_delegate_cur4& claim, Opening& opening) {
  co_await check_name(claim.file);
  co_await open_name(compound, claim.file, opening);
  co_await check_delegation(compound, claim.delegate_stateid, opening);
}

Op4<> claim_deleg_cur_fh(Compound& compound, const stateid4& id, Opening& opening) {
  co_await claim_fh(compound, opening);
  co_await check_delegation(compound, id, opening);
}

Op4<> claim(Compound& compound, const OPEN4args& args, Opening& opening) {
  switch (args.claim.claim) {
    case open_claim_type4::CLAIM_NULL:
      return claim_null(compound, args, opening);
    case open_claim_type4::CLAIM_FH:
    case open_claim_type4::CLAIM_PREVIOUS:
      return claim_fh(compound, opening);
    case open_claim_type4::CLAIM_DELEGATE_CUR:
      return claim_delegate_cur(compound, *args.claim.delegate_cur_info(), opening);
    case open_claim_type4::CLAIM_DELEG_CUR_FH:
      return claim_deleg_cur_fh(compound, *args.claim.oc_delegate_stateid(), opening);
    // No delegation outlives its client here (RFC 8881 10.2.1).
    case open_claim_type4::CLAIM_DELEGATE_PREV:
    case open_claim_type4::CLAIM_DELEG_PREV_FH:
      return refuse(nfsstat4::NFS4ERR_NOTSUPP);
  }
  return refuse(nfsstat4::NFS4ERR_INVAL);
}

// --- What follows.

// RFC 8881 18.16.3: UNCHECKED4 with size 0, now that the open is noted and nobody denies writing.
Op4<> truncate(const Opening& opening) {
  vfs::SetAttributes set;
  set.size = 0;
  const bool writes = (opening.share.access & state::share_write) != 0;
  auto setting = writes
                     ? opening.descriptor->set(opening.at.who, set)
                     : opening.at.fs().setattr(opening.at.who, opening.at.file, set, std::nullopt, nullptr);
  const auto done = co_await std::move(setting).as_result();
  if (!done) co_await refuse(done.error());
}

io::Op<> undo(const Compound& compound, const state::OpenAnswer& noted) {
  state::DeferredWork after;
  compound.server().states.with([&](state::States& states) { states.opens().undo(noted, after); });
  (void)co_await settle(compound.server(), std::move(after)).as_result();
}

// Puts the open among the states; what was opened in vain is closed.
Op4<state::OpenAnswer> note(Compound& compound, Opening& opening) {
  state::OpenRequest request = request_of(compound, opening);
  auto noted =
      co_await with_states<state::OpenAnswer, state::Refusal>(compound, [&](state::States& states,
                                                                            state::DeferredWork& after) {
        return states.opens().open(request, after);
      }).as_result();
  request.descriptor.reset();
  if (!noted) {
    (void)co_await opening.at.fs().close(std::move(opening.descriptor)).as_result();
    co_return refuse(noted.error().status);
  }
  if (!opening.truncate) co_return std::move(*noted);
  const auto truncated = co_await truncate(opening).as_result();
  if (truncated) co_return std::move(*noted);
  (void)co_await undo(compound, *noted).as_result();
  co_return refuse(truncated.error());
}

// RFC 9754 section 4: the delegation alone, unless there is an open of this owner already, or one that has to
// keep others out.
Op4<> drop_open(Compound& compound, const GivenDelegation& delegation, const state::OpenAnswer& noted,
                OPEN4resok& out) {
  (void)co_await undo(compound, noted).as_result();
  out.stateid = state::anonymous_stateid();
  out.rflags |= OPEN4_RESULT_NO_OPEN_STATEID;
  compound.set_current_stateid(delegation.id);
}

// The record of a 4.0 client that held nothing may have gone meanwhile.
Op4<> keep_record(Compound& compound, const Opening& opening, const state::OpenAnswer& noted) {
  const auto recorded = co_await compound.server().clients.ensure_recorded(opening.client).as_result();
  if (recorded) co_return;
  (void)co_await undo(compound, noted).as_result();
  co_await refuse(recorded.error());
}

Op4<OPEN4resok> run(Compound& compound, const OPEN4args& args, state::ClientRef client) {
  Opening opening;
  opening.client = std::move(client);
  opening.owner = base::text_of(args.owner.owner);
  opening.share = co_await wanted_share(compound, args);
  opening.reclaim = args.claim.claim == open_claim_type4::CLAIM_PREVIOUS;
  co_await check_claim(compound, args);
  opening.delegated = args.claim.claim == open_claim_type4::CLAIM_DELEGATE_CUR ||
                      args.claim.claim == open_claim_type4::CLAIM_DELEG_CUR_FH;
  co_await check_grace(compound, opening);
  plan_delegation(compound, args, opening);
  // Costs nothing unless an administrator has taken the client's state back before. Not for who reclaims:
  // that is on record once it has all (RFC 8881 8.4.3).
  if (!opening.reclaim) co_await compound.server().clients.ensure_recorded(opening.client);
  co_await claim(compound, args, opening);
  const state::OpenAnswer noted = co_await note(compound, opening);
  if (compound.minor_version() == 0) co_await keep_record(compound, opening, noted);
  compound.set_current(opening.at, opening.seen);
  compound.set_current_stateid(noted.id);
  std::uint32_t flags = OPEN4_RESULT_LOCKTYPE_POSIX;
  if (noted.confirm) flags |= OPEN4_RESULT_CONFIRM;
  if (compound.minor_version() > 0 && compound.server().callbacks != nullptr)
    flags |= OPEN4_RESULT_MAY_NOTIFY_LOCK;
  const auto delegation = co_await give_delegation(compound, args, opening, noted).as_result();
  if (!delegation) {
    (void)co_await undo(compound, noted).as_result();
    co_return refuse(delegation.error());
  }
  // Its holder relies on what it is told now: nothing that happened before the lease was taken may be
  // missing.
  if (delegation->given) compound.seen().reset();
  OPEN4resok out{.stateid = noted.id,
                 .cinfo = opening.cinfo,
                 .rflags = flags,
                 .attrset = attributes::wire_of(opening.attrset, compound.arena()),
                 .delegation = delegation->wire};
  if (delegation->given && opening.instead && noted.fresh && opening.share.deny == 0)
    co_await drop_open(compound, *delegation, noted, out);
  co_return out;
}

// --- 4.0: a repeated OPEN leads to the same file again (RFC 7530 9.1.7).

struct KeptOpen {
  base::BytesView handle;
  OPEN4resok result;
};
void encode(xdr::Encoder& out, const KeptOpen& kept_open) {
  out.opaque(kept_open.handle);
  encode(out, kept_open.result);
}
bool decode(xdr::Decoder& in, KeptOpen& out) {
  return in.opaque(out.handle, vfs::FileHandle::bytes_max) && decode(in, out.result);
}
bool copy_views(Compound& compound, KeptOpen& body) {
  const auto handle = compound.keep(body.handle);
  if (handle) body.handle = base::bytes_of(*handle);
  return handle.has_value() && ops::copy_views(compound, body.result);
}

Op4<OPEN4resok> repeat(Compound& compound, const state::OwnerTurn& turn) {
  if (turn.status != nfsstat4::NFS4_OK) co_return refuse(turn.status);
  const auto again = recalled<KeptOpen>(compound, turn.reply);
  if (!again) co_return refuse(nfsstat4::NFS4ERR_RESOURCE);
  Place at = co_await compound.resolve(again->handle);
  compound.set_current(std::move(at));
  co_return again->result;
}

Op4<OPEN4resok> run_in_sequence(Compound& compound, const OPEN4args& args, state::ClientRef client) {
  const auto begin = [&](state::States& states, state::DeferredWork& after, state::TurnWaiter* waiter) {
    return states.turns().begin_open(client, base::text_of(args.owner.owner), args.seqid, compound.now(),
                                     after, waiter);
  };
  const auto begun = co_await await_turn(compound, begin).as_result();
  if (!begun) co_return refuse(nfsstat4::NFS4ERR_SERVERFAULT);
  const state::OwnerTurn& turn = *begun;
  if (turn.how == state::OwnerTurn::How::refuse) co_return refuse(turn.status);
  if (turn.how == state::OwnerTurn::How::replay) co_return co_await repeat(compound, turn);
  auto result = co_await run(compound, args, client).as_result();
  base::Bytes bytes;
  if (result) bytes = kept(compound, KeptOpen{compound.current().handle(), *result});
  end_turn(compound, turn, result ? nfsstat4::NFS4_OK : result.error(), std::move(bytes));
  co_return std::move(result);
}

// RFC 7530 16.16.5: a 4.0 client cannot know what the name leads to, so INVAL would blame the innocent.
Result4<void> check_opened_type(const Compound& compound, vfs::FileType type) {
  const bool special = type != vfs::FileType::regular && type != vfs::FileType::directory;
  if (compound.minor_version() == 0 && special) return refuse(nfsstat4::NFS4ERR_SYMLINK);
  return compound.check_regular(type);
}

}  // namespace

Op4<> open_place(Compound& compound, Opening& opening) {
  const Place& at = opening.at;
  if (at.pseudo()) co_await refuse(nfsstat4::NFS4ERR_ISDIR);
  std::optional<vfs::Attributes> before = std::exchange(opening.seen, std::nullopt);
  if (!before) {
    const auto attributes = co_await at.attributes().as_result();
    if (!attributes) co_await refuse(attributes.error());
    before = *attributes;
  }
  co_await check_opened_type(compound, before->type);
  const bool shared = co_await share_delegated(compound, opening, *before);
  if (shared) co_return;
  if (!opening.reclaim) co_await leave_room(compound, at.fs(), opening.client);
  auto opened = co_await open_file(opening).as_result();
  if (!opened && opened.error() == vfs::Error::delay) {
    co_await make_way(compound, opening);
    opened = co_await open_file(opening).as_result();
  }
  if (!opened && opened.error() == vfs::Error::too_many_open_files) {
    const bool room = co_await evict_for_room(compound);
    if (!room) co_await refuse(state::limit_status(compound.minor_version()));
    opened = co_await open_file(opening).as_result();
  }
  if (!opened) co_await refuse(opened.error());
  opening.descriptor = std::move(*opened);
}

Op4<OPEN4resok> open(Compound& compound, const OPEN4args& args) {
  state::ClientRef client = co_await client_of(compound, args.owner.clientid);
  if (compound.minor_version() > 0) co_return co_await run(compound, args, std::move(client));
  // RFC 7530 9.6.3.4.2: a client that reclaims too late must not be on record as one with state, or it could
  // reclaim after the next restart what others have had meanwhile.
  Clients& clients = compound.server().clients;
  const bool late = args.claim.claim == open_claim_type4::CLAIM_PREVIOUS && !clients.admit_reclaim(*client);
  if (!late) co_await clients.ensure_recorded(client);
  co_return co_await run_in_sequence(compound, args, std::move(client));
}

}  // namespace braid::nfs4::ops
