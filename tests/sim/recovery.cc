// A model client's introduction to the server, its lease, and what it does after the server has forgotten
// it.
#include <chrono>
#include <span>

#include "tests/sim/client.h"

namespace braid::sim {
namespace {

using enum nfsstat4;

constexpr base::Duration look_again = std::chrono::milliseconds(200);

channel_attrs4 channel(std::uint32_t bytes, std::uint32_t slots) {
  return {.ca_maxrequestsize = bytes,
          .ca_maxresponsesize = bytes,
          // Little more than a LOCK may take that is denied for the sake of a long name.
          .ca_maxresponsesize_cached = 1536,
          .ca_maxoperations = 32,
          .ca_maxrequests = slots};
}

}  // namespace

ClientOp<> Client::keep_alive() {
  for (;;) {
    while (world_.scheduler.now() < silent_until_) co_await pause(look_again);
    if (!ready_) {
      co_await recover();
      continue;
    }
    const base::TimePoint next = world_.scheduler.now() + random_.between(lease_time / 8, lease_time / 3);
    while (ready_ && world_.scheduler.now() < std::max(next, silent_until_)) co_await pause(look_again);
    if (!ready_) continue;
    co_await renew();
    if (ready_ && std::exchange(back_channel_down_, false)) co_await bind_back_channel();
    if (ready_ && std::exchange(revoked_seen_, false)) co_await look_after_delegations();
  }
}

ClientOp<> Client::renew() {
  Request request;
  if (traits_.minor_version == 0) request.add(nfs_opnum4::OP_RENEW, RENEW4args{id_});
  Outcome done = co_await run(std::move(request), false);
  if (traits_.minor_version > 0 || done.lost || done.instance != instance_) co_return;
  const nfsstat4 status = done.response.status();
  if (status == NFS4_OK) world_.oracle.renewed(traits_.index, done.sent);
  if (status == NFS4ERR_STALE_CLIENTID || status == NFS4ERR_EXPIRED) disowned(done, status);
}

void Client::disowned(const Outcome& outcome, nfsstat4 status) {
  if (outcome.life == known_in_life_)
    world_.oracle.client_lost(traits_.index, outcome.life, outcome.lease, status);
  world_.trace.add(traits_.index, {}, "is told {}", name_of(status));
  disowned_ = true;
  ready_ = false;
}

void Client::begin_anew(clientid4 id) {
  world_.trace.add(traits_.index, {}, "begins anew as {:#x}", id);
  ++instance_;
  id_ = id;
  owner_seqids_.clear();
  for (std::uint32_t owner = 0; owner < traits_.owners; ++owner) owner_seqids_[owner] = 1;
  world_.oracle.known_as(id, traits_.index);
  world_.oracle.began_anew(traits_.index);
}

ClientOp<> Client::recover() {
  if (traits_.minor_version == 0) {
    co_await set_client_id();
  } else {
    if (id_ == 0) co_await exchange_id();
    if (id_ != 0) co_await create_session();
  }
  if (!ready_) {
    co_await pause_between(std::chrono::milliseconds(10), std::chrono::milliseconds(500));
    co_return;
  }
  if (recovered_instance_ == instance_) co_return;
  // Owners have to wait until everything is reclaimed.
  ready_ = false;
  const std::uint32_t instance = instance_;
  if (traits_.minor_version == 0) world_.oracle.recorded(traits_.index, known_in_life_);
  co_await reclaim_all();
  if (instance != instance_ || disowned_) co_return;
  if (traits_.minor_version > 0) {
    world_.oracle.completed(traits_.index, known_in_life_);
    Request request;
    request.add(nfs_opnum4::OP_RECLAIM_COMPLETE, RECLAIM_COMPLETE4args{false});
    const Outcome done = co_await run(std::move(request), true);
    if (done.lost) co_return;
    const nfsstat4 status = done.response.status();
    world_.trace.add(traits_.index, {}, "RECLAIM_COMPLETE: {}", name_of(status));
    if (status != NFS4_OK && status != NFS4ERR_COMPLETE_ALREADY) co_return;
    world_.oracle.recorded(traits_.index, done.life);
  }
  recovered_instance_ = instance_;
  ready_ = true;
}

ClientOp<> Client::set_client_id() {
  Request ask;
  ask.add(nfs_opnum4::OP_SETCLIENTID,
          SETCLIENTID4args{.client = {.verifier = verifier_, .id = base::bytes_of(name_)},
                           .callback = {.cb_program = 0, .cb_location = {"tcp", "0.0.0.0.0.0"}},
                           .callback_ident = 0});
  Outcome asked = co_await run(std::move(ask), true);
  const auto first = asked.response.next();
  if (!first || first->status != NFS4_OK) co_return;
  const auto given = asked.response.body<SETCLIENTID4resok>();
  if (!given) co_return;
  Request confirm_it;
  confirm_it.add(nfs_opnum4::OP_SETCLIENTID_CONFIRM,
                 SETCLIENTID_CONFIRM4args{given->clientid, given->setclientid_confirm});
  const Outcome confirmed = co_await run(std::move(confirm_it), true);
  if (confirmed.lost || confirmed.response.status() != NFS4_OK) co_return;
  if (given->clientid != id_) begin_anew(given->clientid);
  known_in_life_ = confirmed.life;
  world_.oracle.renewed(traits_.index, confirmed.sent);
  disowned_ = false;
  ready_ = true;
}

ClientOp<> Client::exchange_id() {
  Request request;
  request.add(nfs_opnum4::OP_EXCHANGE_ID,
              EXCHANGE_ID4args{.eia_clientowner = {verifier_, base::bytes_of(name_)},
                               .eia_flags = EXCHGID4_FLAG_USE_NON_PNFS});
  const Exchanged done = co_await exchange(std::move(request), false);
  Response response(done.reply);
  const auto first = response.next();
  if (!first || first->status != NFS4_OK) co_return;
  const auto given = response.body<EXCHANGE_ID4resok>();
  if (!given) co_return;
  id_ = given->eir_clientid;
  session_sequence_ = given->eir_sequenceid;
}

ClientOp<> Client::create_session() {
  const callback_sec_parms4 none = callback_sec_parms4::with_SECINFO_AUTH_NONE();
  Request request;
  constexpr std::uint32_t bytes_max = 64 * base::KiB;
  request.add(nfs_opnum4::OP_CREATE_SESSION,
              CREATE_SESSION4args{
                  .csa_clientid = id_,
                  .csa_sequence = session_sequence_,
                  .csa_flags = CREATE_SESSION4_FLAG_CONN_BACK_CHAN,
                  .csa_fore_chan_attrs = channel(bytes_max, static_cast<std::uint32_t>(slots_.size())),
                  .csa_back_chan_attrs = channel(bytes_max, 4),
                  .csa_cb_program = 0x4000'0000,
                  .csa_sec_parms = std::span(&none, 1)});
  const base::TimePoint lease = world_.oracle.lease_end(traits_.index);
  const clientid4 asked = id_;
  const Exchanged done = co_await exchange(std::move(request), false);
  Outcome out(Response(done.reply), done.sent);
  out.lease = lease;
  out.life = done.life;
  const auto first = out.response.next();
  const nfsstat4 status = first ? first->status : NFS4ERR_SERVERFAULT;
  const auto given = status == NFS4_OK ? out.response.body<CREATE_SESSION4resok>() : std::nullopt;
  if (!given) {
    if (status == NFS4ERR_STALE_CLIENTID && known_id_ == asked) disowned(out, status);
    id_ = 0;
    co_return;
  }
  session_ = given->csr_sessionid;
  fore_ = given->csr_fore_chan_attrs;
  fore_.ca_rdma_ird = {};
  if (world_.plant == Plant::narrow_sessions) fore_.ca_maxresponsesize_cached /= 8;
  slots_ = {};
  ++session_sequence_;
  known_in_life_ = done.life;
  if (known_id_ != asked) {
    known_id_ = asked;
    begin_anew(asked);
    world_.oracle.renewed(traits_.index, done.sent);
  }
  disowned_ = false;
  ready_ = true;
}

ClientOp<> Client::reclaim_all() {
  const std::uint32_t instance = instance_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> wanted;
  for (const Claim* claim : world_.oracle.all_of(traits_.index))
    if (claim->until) wanted.emplace_back(claim->owner, claim->file);
  for (const auto& [owner, file] : wanted) {
    co_await reclaim(owner, file);
    if (instance != instance_ || disowned_) co_return;
  }
}

ClientOp<> Client::reclaim(std::uint32_t owner, std::uint32_t file) {
  constexpr int attempts_max = 20;
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    Claim* claim = world_.oracle.find(traits_.index, owner, file);
    if (claim == nullptr || !claim->until) co_return;
    Outcome done = co_await run(open_request(owner, file, claim->access, claim->deny, true), true);
    nfsstat4 status = done.response.skip(1);
    const auto result = status == NFS4_OK ? done.response.next() : std::nullopt;
    if (result) status = result->status;
    count_seqid(owner, status);
    world_.trace.add(traits_.index, file, "owner {} reclaims: {}", owner, name_of(status));
    if (traits_.minor_version == 0)
      world_.oracle.perhaps_on_record(traits_.index, done.first_life, done.life);
    if (!still_ours(done, status, owner, file)) co_return;
    claim = world_.oracle.find(traits_.index, owner, file);
    if (claim == nullptr) co_return;
    if (status == NFS4ERR_DELAY) {
      co_await pause(std::chrono::milliseconds(500));
      continue;
    }
    const base::TimePoint until = claim->until.value_or(base::TimePoint{});
    const auto given = status == NFS4_OK ? done.response.body<OPEN4resok>() : std::nullopt;
    if (!given) {
      world_.oracle.reclaim_refused(*claim, until, done.life, status);
      world_.oracle.drop(*claim);
      co_return;
    }
    if (traits_.minor_version == 0) world_.oracle.renewed(traits_.index, done.sent);
    const std::array<Cell, lock_cells> cells = std::exchange(claim->cells, {});
    claim->open_id = given->stateid;
    claim->lock_id.reset();
    world_.oracle.reclaimed(*claim, done.life, done.sent);
    co_await reclaim_locks(owner, file, cells, until);
    co_return;
  }
}

ClientOp<> Client::reclaim_locks(std::uint32_t owner, std::uint32_t file, std::array<Cell, lock_cells> cells,
                                 base::TimePoint until) {
  for (std::uint32_t first = 0; first < lock_cells;) {
    std::uint32_t end = first + 1;
    while (end < lock_cells && cells[end] == cells[first]) ++end;
    const Cells range{first, end - first};
    const Cell type = cells[first];
    first = end;
    Claim* claim = world_.oracle.find(traits_.index, owner, file);
    if (type == Cell::none || claim == nullptr) continue;
    Outcome done = co_await run(lock_request(*claim, range, type, true), true);
    nfsstat4 status = done.response.skip(1);
    const auto result = status == NFS4_OK ? done.response.next() : std::nullopt;
    if (result) status = result->status;
    world_.trace.add(traits_.index, file, "owner {} reclaims lock {}+{} {}: {}", owner, range.first,
                     range.count, type == Cell::write ? "write" : "read", name_of(status));
    claim = world_.oracle.find(traits_.index, owner, file);
    const bool new_owner = claim != nullptr && !claim->lock_id;
    if (claim != nullptr && done.instance == instance_) {
      if (new_owner)
        count_seqid(owner, status);
      else if (counts(status))
        ++claim->lock_seqid;
    }
    if (!still_ours(done, status, owner, file)) co_return;
    if (status != NFS4_OK) {
      world_.oracle.reclaim_refused(*claim, until, done.life, status);
      continue;
    }
    take_lock(done, status, *claim, range, type);
  }
}

// The connection that there is now; it may not be there any more when the request arrives.
ClientOp<> Client::bind_back_channel() {
  Request request;
  request.add(nfs_opnum4::OP_BIND_CONN_TO_SESSION,
              BIND_CONN_TO_SESSION4args{.bctsa_sessid = session_,
                                        .bctsa_dir = channel_dir_from_client4::CDFC4_FORE_OR_BOTH,
                                        .bctsa_use_conn_in_rdma_mode = false});
  const Exchanged done = co_await exchange(std::move(request), false);
  world_.trace.add(traits_.index, {}, "binds its back channel: {}", name_of(Response(done.reply).status()));
}

ClientOp<> Client::look_after_delegations() {
  std::vector<stateid4> ids;
  for (const Claim* claim : world_.oracle.all_of(traits_.index))
    if (claim->delegation) ids.push_back(claim->open_id);
  for (const stateid4& id : ids) {
    Request request;
    request.add(nfs_opnum4::OP_TEST_STATEID, TEST_STATEID4args{std::span(&id, 1)});
    Outcome done = co_await run(std::move(request), false);
    const auto result = done.response.next();
    if (done.lost || !result || result->status != NFS4_OK || done.instance != instance_) co_return;
    const auto tested = done.response.body<TEST_STATEID4resok>();
    if (!tested || tested->tsr_status_codes.size() != 1 || tested->tsr_status_codes[0] == NFS4_OK) continue;
    for (const Claim* claim : world_.oracle.all_of(traits_.index)) {
      if (!claim->delegation || claim->open_id.other != id.other) continue;
      world_.trace.add(traits_.index, claim->file, "finds its delegation revoked");
      world_.oracle.revoked(*claim, done.life);
      break;
    }
    Request free_it;
    free_it.add(nfs_opnum4::OP_FREE_STATEID, FREE_STATEID4args{id});
    (void)co_await run(std::move(free_it), true);
  }
}

}  // namespace braid::sim
