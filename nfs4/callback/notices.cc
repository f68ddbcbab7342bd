// What clients are told about opens and locks: that a delegation is wanted back, that a lock has become free.
#include <chrono>
#include <utility>

#include "nfs4/callback/callbacks.h"

namespace braid::nfs4::callback {

namespace {

// A recall is repeated so often, at these distances.
constexpr int recalls_max = 60;
constexpr base::Duration recall_pause = std::chrono::seconds(1);

// Whether the client may answer otherwise the next time. BAD_STATEID and BADHANDLE: our call may have
// overtaken the reply that gives it the delegation (RFC 8881 2.10.6.3).
bool worth_repeating(const base::Result<Answer, Failure>& answer) {
  if (!answer) return answer.error() != Failure::closing;
  return answer->status == nfsstat4::NFS4ERR_DELAY || answer->status == nfsstat4::NFS4ERR_BAD_STATEID ||
         answer->status == nfsstat4::NFS4ERR_BADHANDLE;
}

}  // namespace

void Callbacks::recall(state::Recall recall) {
  ++running_;
  tcp_.reactor().post([this, recall = std::move(recall)] {
    io::spawn(gate_, recall_here(recall));
    --running_;
  });
}

io::Op<> Callbacks::recall_here(state::Recall recall) {
  for (int attempt = 0; attempt < recalls_max; ++attempt) {
    if (closing_ || recall.client->gone()) co_return;
    const CB_RECALL4args args{.stateid = recall.id, .truncate = false, .fh = recall.file.view()};
    const auto answer = co_await call(recall.client->id, nfs_cb_opnum4::OP_CB_RECALL, args).as_result();
    if (!worth_repeating(answer)) co_return;
    co_await tcp_.reactor().sleep(recall_pause);
  }
}

void Callbacks::notify_lock(state::LockTurn turn) {
  ++running_;
  tcp_.reactor().post([this, turn = std::move(turn)] {
    io::spawn(gate_, notify_lock_here(turn));
    --running_;
  });
}

io::Op<> Callbacks::notify_lock_here(state::LockTurn turn) {
  if (closing_) co_return;
  const CB_NOTIFY_LOCK4args args{
      .cnla_fh = turn.file.view(),
      .cnla_lock_owner = {.clientid = turn.client, .owner = base::bytes_of(turn.owner)}};
  (void)co_await call(turn.client, nfs_cb_opnum4::OP_CB_NOTIFY_LOCK, args).as_result();
}

}  // namespace braid::nfs4::callback
