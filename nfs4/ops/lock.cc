#include <optional>
#include <utility>

#include "nfs4/callback/callbacks.h"
#include "nfs4/ops/lock_support.h"
#include "nfs4/ops/open_operations.h"
#include "nfs4/ops/open_support.h"
#include "nfs4/ops/owner_sequence.h"
#include "nfs4/ops/state_access.h"

namespace braid::nfs4::ops {

namespace {

using LockOp = Op4<LOCK4resok, LOCK4denied>;

base::Failure<Failed<LOCK4denied>> cannot(nfsstat4 status) { return refuse_without<LOCK4denied>(status); }

// Whether grace allows this. For a client without sessions `client` may be null: whoever brings a lock
// stateid has shown by it that it is there.
nfsstat4 admit(Compound& compound, bool reclaim, state::Client* client) {
  Clients& clients = compound.server().clients;
  if (client != nullptr) {
    const auto admitted =
        reclaim ? clients.begin_reclaim(*client, compound.now()) : clients.admit_new(*client);
    return admitted ? nfsstat4::NFS4_OK : admitted.error();
  }
  if (reclaim == clients.in_grace()) return nfsstat4::NFS4_OK;
  return reclaim ? nfsstat4::NFS4ERR_NO_GRACE : nfsstat4::NFS4ERR_GRACE;
}

// CB_NOTIFY_LOCK is of 4.1, and needs a back channel.
bool can_be_told(const Compound& compound) {
  const callback::Callbacks* callbacks = compound.server().callbacks;
  const state::ClientRef client = compound.client();
  return client != nullptr && callbacks != nullptr && callbacks->reachable(client->id);
}

// What the file system, too, has granted to an owner with many ranges there.
Op4<stateid4> take_in_portions(Compound& compound, const state::LockAnswer& answer,
                               const state::HeldRange& wanted) {
  for (;;) {
    const auto taken = co_await with_own_state<std::optional<stateid4>>(
        compound, [&](state::States& states, state::DeferredWork& after) {
          return states.locks().take_some(answer, wanted, after);
        });
    if (taken) co_return *taken;
    (void)co_await let_others_run().as_result();
  }
}

// The range is ours among the clients; is it among local processes too?
LockOp confirm_locally(Compound& compound, state::LockAnswer answer, const state::LockRequest& request) {
  const state::HeldRange& wanted = request.wanted;
  const LOCK4resok granted{answer.id};
  if (answer.open == nullptr && answer.claimed) {
    const auto taken = co_await take_in_portions(compound, answer, wanted).as_result();
    if (!taken) co_return cannot(taken.error());
    co_return LOCK4resok{*taken};
  }
  if (answer.open == nullptr) co_return granted;
  const Place& at = compound.current();
  const auto conflict =
      co_await at.fs().lock(answer.open, answer.owner, vfs::range_of(wanted.range), wanted.type).as_result();
  // File systems without such locks have no local ones that could be in the way.
  const bool held = conflict ? !*conflict : conflict.error() == vfs::Error::notsupp;
  state::DeferredWork after;
  const bool kept = compound.server().states.with([&](state::States& states) {
    if (!held) states.locks().undo(answer, request, conflict.has_value(), after);
    return states.has(answer.id);
  });
  if (held && kept && !answer.claimed) co_return granted;
  if (held && kept) {
    const auto taken = co_await take_in_portions(compound, answer, wanted).as_result();
    if (taken) co_return LOCK4resok{*taken};
  }
  if (held) {
    // The client or the open went while we waited, and with it what would have unlocked this.
    (void)co_await at.fs().unlock(at.file, answer.owner, vfs::range_of(wanted.range)).as_result();
    co_return cannot(nfsstat4::NFS4ERR_BAD_STATEID);
  }
  (void)co_await settle(compound.server(), std::move(after)).as_result();
  if (!conflict) co_return cannot(status_of(conflict.error()));
  co_return refuse(nfsstat4::NFS4ERR_DENIED, denied(**conflict));
}

LockOp run(Compound& compound, const LOCK4args& args, stateid4 id) {
  const auto lockable = co_await check_lockable(compound).as_result();
  if (!lockable) co_return cannot(lockable.error());
  const auto range = range_of(args.offset, args.length);
  if (!range) co_return cannot(range.error());
  const LockWish wish = wish_of(args.locktype);
  const open_to_lock_owner4* fresh = args.locker.open_owner();

  state::ClientRef client = compound.client();
  if (client == nullptr && fresh != nullptr) {
    auto named = client_of(compound, fresh->lock_owner.clientid);
    if (!named) co_return cannot(named.error());
    client = std::move(*named);
  }
  if (const nfsstat4 status = admit(compound, args.reclaim, client.get()); status != nfsstat4::NFS4_OK)
    co_return cannot(status);

  // A locked file keeps descriptors, of which others need some.
  if (fresh != nullptr && !args.reclaim && compound.current().fs().few_locks_left() &&
      over_share(compound, *client, state::StateKind::lock))
    co_return cannot(state::limit_status(client->minor_version()));

  const vfs::FileHandle file = compound.current().file->handle();
  state::LockRequest request{.use = use_of(compound, id, file),
                             .new_owner = std::nullopt,
                             .new_owner_seqid = 0,
                             .wanted = {*range, wish.mode},
                             .blocking = wish.blocking,
                             .can_be_told = wish.blocking && can_be_told(compound)};
  if (fresh != nullptr) {
    request.new_owner = base::text_of(fresh->lock_owner.owner);
    request.new_owner_seqid = fresh->lock_seqid;
  }
  auto locked =
      co_await with_states<state::LockAnswer, state::LockRefusal>(compound, [&](state::States& states,
                                                                                state::DeferredWork& after) {
        return states.locks().lock(request, after);
      }).as_result();
  if (!locked) {
    if (!locked.error().holder) co_return cannot(locked.error().why.status);
    auto body = denied(compound, *locked.error().holder);
    if (!body) co_return cannot(body.error());
    co_return refuse(nfsstat4::NFS4ERR_DENIED, *body);
  }
  auto result = co_await confirm_locally(compound, std::move(*locked), request).as_result();
  if (result) compound.set_current_stateid(result->lock_stateid);
  co_return std::move(result);
}

// As in_turn(), for a result with a body in its failing arm.
LockOp lock_in_turn(Compound& compound, state::OwnerTurn turn, LockOp body) {
  if (turn.how == state::OwnerTurn::How::refuse) co_return cannot(turn.status);
  if (turn.how == state::OwnerTurn::How::replay) {
    if (turn.status == nfsstat4::NFS4ERR_DENIED && !turn.reply.empty()) {
      auto again = recalled<LOCK4denied>(compound, turn.reply);
      if (again) co_return refuse(turn.status, *again);
      co_return cannot(nfsstat4::NFS4ERR_RESOURCE);
    }
    if (turn.status != nfsstat4::NFS4_OK) co_return cannot(turn.status);
    auto again = recalled<LOCK4resok>(compound, turn.reply);
    if (!again) co_return cannot(nfsstat4::NFS4ERR_RESOURCE);
    co_return *again;
  }
  auto result = co_await std::move(body).as_result();
  nfsstat4 status = nfsstat4::NFS4_OK;
  base::Bytes bytes;
  if (result) {
    bytes = kept(compound, *result);
  } else {
    status = result.error().status;
    if (result.error().body) bytes = kept(compound, *result.error().body);
  }
  end_turn(compound, turn, status, std::move(bytes));
  co_return std::move(result);
}

}  // namespace

LockOp lock(Compound& compound, const LOCK4args& args) {
  if (compound.current().pseudo()) co_return cannot(nfsstat4::NFS4ERR_ISDIR);
  const open_to_lock_owner4* fresh = args.locker.open_owner();
  const exist_lock_owner4* known = args.locker.lock_owner();
  const auto id = compound.named(fresh != nullptr ? fresh->open_stateid : known->lock_stateid);
  if (!id) co_return cannot(id.error());
  LockOp body = run(compound, args, *id);
  if (compound.minor_version() > 0) co_return co_await std::move(body);
  // RFC 7530 16.10.5: the first lock of an owner counts in the sequence of the open owner.
  const OwnerStep step{*id, fresh != nullptr ? state::StateKind::open : state::StateKind::lock,
                       fresh != nullptr ? fresh->open_seqid : known->lock_seqid, nfs_opnum4::OP_LOCK};
  auto turn = co_await begin_turn(compound, step).as_result();
  if (!turn) co_return cannot(nfsstat4::NFS4ERR_SERVERFAULT);
  co_return co_await lock_in_turn(compound, std::move(*turn), std::move(body));
}

}  // namespace braid::nfs4::ops
