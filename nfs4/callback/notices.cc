// What clients are told about opens and locks: that a delegation is wanted back, that a lock has become free.
#include <array>
#include <chrono>
#include <utility>

#include "nfs4/callback/callbacks.h"

namespace braid::nfs4::callback {

namespace {

constexpr base::Duration pause_later = std::chrono::seconds(1);
// All slots of the back channel are in use, by calls that end soon.
constexpr base::Duration pause_soon = std::chrono::milliseconds(20);

// Whether the client may answer otherwise the next time. BAD_STATEID and BADHANDLE: our call may have
// overtaken the reply that gives it the delegation (RFC 8881 2.10.6.3).
bool worth_repeating(const base::Result<Answer, Failure>& answer) {
  if (!answer) return answer.error() != Failure::closing && answer.error() != Failure::too_big;
  return answer->status == nfsstat4::NFS4ERR_DELAY || answer->status == nfsstat4::NFS4ERR_BAD_STATEID ||
         answer->status == nfsstat4::NFS4ERR_BADHANDLE;
}

}  // namespace

void Callbacks::repeat(Attempt attempt) {
  in_background([this, attempt = std::move(attempt)] { return repeat_here(attempt); });
}

io::Op<> Callbacks::repeat_here(Attempt attempt) {
  io::Reactor& reactor = tcp_.reactor();
  const base::TimePoint until = reactor.clock().now() + repeat_patience;
  while (!closing_ && reactor.clock().now() < until) {
    const auto again = co_await attempt().as_result();
    if (!again || *again == Again::no) co_return;
    co_await reactor.sleep(*again == Again::soon ? pause_soon : pause_later);
  }
}

// Whoever has not returned the delegation when this gives up has had it revoked.
void Callbacks::recall(state::Recall recall) {
  repeat([this, recall = std::move(recall)] { return try_recall(recall); });
}

io::Op<Callbacks::Again> Callbacks::try_recall(const state::Recall& recall) {
  if (recall.client->gone()) co_return Again::no;
  const CB_RECALL4args args{.stateid = recall.id, .truncate = false, .fh = recall.file.view()};
  const auto answer = co_await call(recall.client->id, nfs_cb_opnum4::OP_CB_RECALL, args).as_result();
  if (!worth_repeating(answer)) co_return Again::no;
  co_return !answer && answer.error() == Failure::busy ? Again::soon : Again::later;
}

void Callbacks::recall_any(clientid4 client, std::uint32_t keep) {
  in_background([this, client, keep] { return recall_any_here(client, keep); });
}

io::Op<> Callbacks::recall_any_here(clientid4 client, std::uint32_t keep) {
  constexpr std::array<std::uint32_t, 1> types{1U << RCA4_TYPE_MASK_RDATA_DLG |
                                               1U << RCA4_TYPE_MASK_WDATA_DLG | 1U << RCA4_TYPE_MASK_DIR_DLG};
  if (closing_) co_return;
  const CB_RECALL_ANY4args args{.craa_objects_to_keep = keep, .craa_type_mask = types};
  (void)co_await call(client, nfs_cb_opnum4::OP_CB_RECALL_ANY, args).as_result();
}

void Callbacks::recall_slots(state::SessionRef session, std::uint32_t target) {
  in_background([this, session = std::move(session), target] { return recall_slots_here(session, target); });
}

io::Op<> Callbacks::recall_slots_here(state::SessionRef session, std::uint32_t target) {
  if (closing_) co_return;
  io::SlabCursor cursor(pool_);
  xdr::Encoder out(cursor);
  encode(out, CB_RECALL_SLOT4args{.rsa_target_highest_slotid = target});
  Request request{.op = nfs_cb_opnum4::OP_CB_RECALL_SLOT, .args = bytes_of(out)};
  (void)co_await send_in_session(std::move(session), std::move(request)).as_result();
}

void Callbacks::notify_lock(state::LockTurn turn) {
  in_background([this, turn = std::move(turn)] { return notify_lock_here(turn); });
}

io::Op<> Callbacks::notify_lock_here(state::LockTurn turn) {
  if (closing_) co_return;
  const CB_NOTIFY_LOCK4args args{
      .cnla_fh = turn.file.view(),
      .cnla_lock_owner = {.clientid = turn.client, .owner = base::bytes_of(turn.owner)}};
  (void)co_await call(turn.client, nfs_cb_opnum4::OP_CB_NOTIFY_LOCK, args).as_result();
}

}  // namespace braid::nfs4::callback
