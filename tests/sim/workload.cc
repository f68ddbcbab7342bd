// What the owners of a model client do all day.
#include <array>
#include <chrono>

#include "tests/sim/client.h"

namespace braid::sim {
namespace {

using enum nfsstat4;

// Before what the server asks to be tried later is tried again.
constexpr base::Duration retry_pause = std::chrono::milliseconds(50);

// The status of the operation behind so many that bring nothing but OK.
nfsstat4 status_behind(Outcome& outcome, int before) {
  const nfsstat4 status = outcome.response.skip(before);
  if (status != NFS4_OK) return status;
  const auto result = outcome.response.next();
  return result ? result->status : outcome.response.status();
}

}  // namespace

ClientOp<> Client::work(std::uint32_t owner) {
  for (;;) {
    co_await pause_between(std::chrono::milliseconds(20), std::chrono::milliseconds(2500));
    co_await until_ready();
    co_await one_operation(owner);
  }
}

ClientOp<> Client::one_operation(std::uint32_t owner) {
  const auto file = static_cast<std::uint32_t>(random_.below(world_.files.size()));
  const Claim* const claim = world_.oracle.find(traits_.index, owner, file);
  const std::uint64_t dice = random_.below(100);
  if (dice < 3 && traits_.minor_version > 0) return long_reply();
  if (dice < 8) return names(owner);
  if (claim == nullptr && dice < 12) return reclaim_wrongly(owner, file);
  if (claim == nullptr && dice < 25) return read_or_write(owner, file);
  if (claim == nullptr || dice < 20) return open(owner, file);
  if (dice < 28) return downgrade(owner, file);
  if (dice < 42) return close(owner, file);
  if (dice < 66) return lock(owner, file);
  if (dice < 78) return unlock(owner, file);
  return read_or_write(owner, file);
}

// --- OPEN and its kin.

ClientOp<> Client::open(std::uint32_t owner, std::uint32_t file) {
  std::uint32_t access = OPEN4_SHARE_ACCESS_READ;
  if (!random_.percent(world_.read_percent))
    access = random_.percent(50) ? OPEN4_SHARE_ACCESS_WRITE : OPEN4_SHARE_ACCESS_BOTH;
  std::uint32_t deny = OPEN4_SHARE_DENY_NONE;
  if (random_.percent(world_.deny_percent)) deny = static_cast<std::uint32_t>(random_.below(4));
  std::uint32_t asked = access;
  if (traits_.minor_version > 0) asked |= static_cast<std::uint32_t>(random_.below(5)) << 8;
  world_.oracle.dispute(traits_.index, file, (access & OPEN4_SHARE_ACCESS_WRITE) != 0 || deny != 0);
  const std::uint64_t others_running = calls_.size();
  const std::uint64_t others_ended = ended_calls_;
  Outcome done = co_await run(open_request(owner, file, asked, deny, false), true);
  const nfsstat4 status = status_behind(done, 1);
  if (done.instance == instance_) count_seqid(owner, status);
  world_.trace.add(traits_.index, file, "owner {} opens, access {} deny {}: {}", owner, access, deny,
                   name_of(status));
  if (traits_.minor_version == 0) world_.oracle.perhaps_on_record(traits_.index, done.first_life, done.life);
  if (!still_ours(done, status, owner, file)) co_return;
  const bool alone = others_running == 0 && ended_calls_ == others_ended + 1 && calls_.empty();
  if (status == NFS4ERR_SHARE_DENIED && alone) world_.oracle.open_refused(traits_.index, file, done.sent);
  if (status != NFS4_OK) co_return;
  auto given = done.response.body<OPEN4resok>();
  if (!given) co_return;
  if (traits_.minor_version == 0) world_.oracle.renewed(traits_.index, done.sent);
  if ((given->rflags & OPEN4_RESULT_CONFIRM) != 0) {
    const std::uint32_t instance = instance_;
    const bool confirmed = co_await confirm(owner, file, given->stateid);
    if (!confirmed || instance != instance_) co_return;
  }
  take_open(done, *given, owner, file, access, deny);
}

void Client::take_open(const Outcome& outcome, const OPEN4resok& given, std::uint32_t owner,
                       std::uint32_t file, std::uint32_t access, std::uint32_t deny) {
  if (const Claim* const before = world_.oracle.find(traits_.index, owner, file)) {
    if (before->open_id.other == given.stateid.other)
      world_.oracle.used(*before, outcome.sent);
    else
      world_.oracle.lost(*before, outcome.life, NFS4ERR_BAD_STATEID);
  }
  world_.oracle.granted_new(traits_.index, file, outcome.life);
  Claim& claim = world_.oracle.opened(traits_.index, owner, file, access, deny, outcome.life);
  claim.open_id = given.stateid;
  take_delegation(given.delegation, file, outcome);
}

void Client::take_delegation(const open_delegation4& given, std::uint32_t file, const Outcome& outcome) {
  if (world_.plant == Plant::unasked_delegation) {
    world_.oracle.delegated(traits_.index, file, false, outcome.life, outcome.sent);
    return;
  }
  const auto* const read = given.read();
  const auto* const write = given.write();
  if (read == nullptr && write == nullptr) return;
  world_.trace.add(traits_.index, file, "is given a {} delegation", write != nullptr ? "write" : "read");
  Claim& claim = world_.oracle.delegated(traits_.index, file, write != nullptr, outcome.life, outcome.sent);
  claim.open_id = write != nullptr ? write->stateid : read->stateid;
  // Some are given back without being asked for.
  if (random_.percent(20))
    io::spawn(gate_,
              return_delegation(claim.open_id, random_.between(base::Duration(0), std::chrono::seconds(20))));
}

ClientOp<> Client::return_delegation(stateid4 id, base::Duration wait) {
  co_await pause(wait);
  co_await until_ready();
  for (const Claim* claim : world_.oracle.all_of(traits_.index)) {
    if (!claim->delegation || claim->open_id.other != id.other) continue;
    const std::uint32_t file = claim->file;
    const std::optional<base::TimePoint> overtaken = claim->overtaken;
    world_.oracle.drop(*claim);
    Request request = at_file(file);
    request.add(nfs_opnum4::OP_DELEGRETURN, DELEGRETURN4args{id});
    const Outcome done = co_await run(std::move(request), true);
    const nfsstat4 status = done.response.status();
    world_.trace.add(traits_.index, file, "returns its delegation: {}", name_of(status));
    if (!done.lost && done.instance == instance_ && status == NFS4_OK && overtaken && *overtaken < done.sent)
      world_.oracle.violation("delegation_coherence", traits_.index, file,
                              "a delegation was returned that others had overtaken");
    co_return;
  }
}

ClientOp<bool> Client::confirm(std::uint32_t owner, std::uint32_t file, stateid4& id) {
  Request request = at_file(file);
  request.add(nfs_opnum4::OP_OPEN_CONFIRM, OPEN_CONFIRM4args{id, seqid(owner)});
  Outcome done = co_await run(std::move(request), true);
  const nfsstat4 status = status_behind(done, 1);
  if (done.instance == instance_) count_seqid(owner, status);
  if (!still_ours(done, status, owner, file) || status != NFS4_OK) co_return false;
  const auto given = done.response.body<OPEN_CONFIRM4resok>();
  if (!given) co_return false;
  world_.oracle.renewed(traits_.index, done.sent);
  id = given->open_stateid;
  co_return true;
}

ClientOp<> Client::downgrade(std::uint32_t owner, std::uint32_t file) {
  Claim* claim = world_.oracle.find(traits_.index, owner, file);
  const std::uint32_t access =
      claim->access == OPEN4_SHARE_ACCESS_BOTH ? OPEN4_SHARE_ACCESS_READ : claim->access;
  const std::uint32_t deny = random_.percent(50) ? 0 : claim->deny;
  claim->access = access;
  claim->deny = deny;
  Request request = at_file(file);
  request.add(nfs_opnum4::OP_OPEN_DOWNGRADE,
              OPEN_DOWNGRADE4args{.open_stateid = claim->open_id,
                                  .seqid = traits_.minor_version > 0 ? 0 : seqid(owner),
                                  .share_access = access,
                                  .share_deny = deny});
  Outcome done = co_await run(std::move(request), true);
  const nfsstat4 status = status_behind(done, 1);
  if (done.instance == instance_) count_seqid(owner, status);
  world_.trace.add(traits_.index, file, "owner {} downgrades to access {} deny {}: {}", owner, access, deny,
                   name_of(status));
  if (!still_ours(done, status, owner, file) || status != NFS4_OK) co_return;
  claim = world_.oracle.find(traits_.index, owner, file);
  const auto id = done.response.body<stateid4>();
  if (claim == nullptr || !id) co_return;
  if (traits_.minor_version == 0) world_.oracle.renewed(traits_.index, done.sent);
  world_.oracle.used(*claim, done.sent);
  claim->open_id = *id;
}

ClientOp<> Client::close(std::uint32_t owner, std::uint32_t file) {
  const Claim claim = *world_.oracle.find(traits_.index, owner, file);
  world_.oracle.drop(*world_.oracle.find(traits_.index, owner, file));
  for (;;) {
    Request request = at_file(file);
    request.add(nfs_opnum4::OP_CLOSE,
                CLOSE4args{traits_.minor_version > 0 ? 0 : seqid(owner), claim.open_id});
    Outcome done = co_await run(std::move(request), true);
    const nfsstat4 status = status_behind(done, 1);
    if (done.instance == instance_) count_seqid(owner, status);
    world_.trace.add(traits_.index, file, "owner {} closes: {}", owner, name_of(status));
    // It is open yet.
    if (status == nfsstat4::NFS4ERR_DELAY && done.instance == instance_) {
      co_await pause(retry_pause);
      continue;
    }
    if (!still_ours(done, status, owner, file)) co_return;
    if (status != NFS4_OK) co_return;
    if (traits_.minor_version == 0) world_.oracle.renewed(traits_.index, done.sent);
    world_.oracle.used(claim, done.sent);
    co_return;
  }
}

// RFC 8881 8.4.2.1, 18.51: nothing is reclaimed after the grace period, or after RECLAIM_COMPLETE.
ClientOp<> Client::reclaim_wrongly(std::uint32_t owner, std::uint32_t file) {
  if (traits_.minor_version == 0 && !world_.oracle.grace_over()) co_return;
  Outcome done = co_await run(open_request(owner, file, OPEN4_SHARE_ACCESS_READ, 0, true), true);
  const nfsstat4 status = status_behind(done, 1);
  if (done.instance == instance_) count_seqid(owner, status);
  world_.trace.add(traits_.index, file, "owner {} reclaims what it never had: {}", owner, name_of(status));
  if (!still_ours(done, status, owner, file) || status != NFS4_OK) co_return;
  // Sent before a restart, it may have come right into the grace period after it.
  if (traits_.minor_version == 0 && done.life != known_in_life_) co_return;
  world_.oracle.violation("late_reclaim", traits_.index, file, "an OPEN was reclaimed out of time");
}

// --- Locks.

ClientOp<> Client::lock(std::uint32_t owner, std::uint32_t file) {
  Claim* claim = world_.oracle.find(traits_.index, owner, file);
  Cell type = random_.percent(50) ? Cell::read : Cell::write;
  if (claim->access == OPEN4_SHARE_ACCESS_READ) type = Cell::read;
  if (claim->access == OPEN4_SHARE_ACCESS_WRITE) type = Cell::write;
  Cells cells;
  cells.first = static_cast<std::uint32_t>(random_.below(lock_cells));
  cells.count = static_cast<std::uint32_t>(
      random_.between(std::uint64_t{1}, std::min<std::uint64_t>(4, lock_cells - cells.first)));
  Oracle::weaken(*claim, cells, type);
  const bool new_owner = !claim->lock_id;
  Outcome done = co_await run(lock_request(*claim, cells, type, false), true);
  const nfsstat4 status = status_behind(done, 1);
  world_.trace.add(traits_.index, file, "owner {} locks {}+{} {}: {}", owner, cells.first, cells.count,
                   type == Cell::write ? "write" : "read", name_of(status));
  claim = world_.oracle.find(traits_.index, owner, file);
  if (done.instance == instance_ && claim != nullptr) {
    if (new_owner)
      count_seqid(owner, status);
    else if (counts(status))
      ++claim->lock_seqid;
  }
  if (!still_ours(done, status, owner, file) || claim == nullptr) co_return;
  if (status == NFS4_OK) world_.oracle.granted_new(traits_.index, file, done.life);
  take_lock(done, status, *claim, cells, type);
}

void Client::take_lock(Outcome& outcome, nfsstat4 status, Claim& claim, Cells cells, Cell type) {
  if (status == NFS4ERR_DENIED) {
    if (const auto denied = outcome.response.body<LOCK4denied>())
      world_.oracle.lock_refused(traits_.index, claim.file, base::text_of(denied->owner.owner), outcome.sent);
    return;
  }
  const auto given = status == NFS4_OK ? outcome.response.body<LOCK4resok>() : std::nullopt;
  if (!given) return;
  if (traits_.minor_version == 0) world_.oracle.renewed(traits_.index, outcome.sent);
  world_.oracle.used(claim, outcome.sent);
  if (!claim.lock_id) claim.lock_seqid = 1;
  claim.lock_id = given->lock_stateid;
  world_.oracle.locked(claim, cells, type);
}

ClientOp<> Client::unlock(std::uint32_t owner, std::uint32_t file) {
  Claim* claim = world_.oracle.find(traits_.index, owner, file);
  if (!claim->lock_id) co_return;
  Cells cells;
  cells.first = static_cast<std::uint32_t>(random_.below(lock_cells));
  cells.count = static_cast<std::uint32_t>(random_.between(std::uint64_t{1}, lock_cells - cells.first));
  Oracle::weaken(*claim, cells, Cell::none);
  const std::uint64_t shift = world_.plant == Plant::ignored_locks ? (1U + traits_.index) << 16 : 0;
  while (claim != nullptr && claim->lock_id) {
    Request request = at_file(file);
    request.add(nfs_opnum4::OP_LOCKU, LOCKU4args{.locktype = nfs_lock_type4::WRITE_LT,
                                                 .seqid = claim->lock_seqid,
                                                 .lock_stateid = *claim->lock_id,
                                                 .offset = cells.first + shift,
                                                 .length = cells.count});
    Outcome done = co_await run(std::move(request), true);
    const nfsstat4 status = status_behind(done, 1);
    world_.trace.add(traits_.index, file, "owner {} unlocks {}+{}: {}", owner, cells.first, cells.count,
                     name_of(status));
    claim = world_.oracle.find(traits_.index, owner, file);
    if (done.instance == instance_ && claim != nullptr && counts(status)) ++claim->lock_seqid;
    // It is locked yet.
    if (status == nfsstat4::NFS4ERR_DELAY && done.instance == instance_) {
      co_await pause(retry_pause);
      claim = world_.oracle.find(traits_.index, owner, file);
      continue;
    }
    if (!still_ours(done, status, owner, file) || claim == nullptr || status != NFS4_OK) co_return;
    const auto id = done.response.body<stateid4>();
    if (!id) co_return;
    if (traits_.minor_version == 0) world_.oracle.renewed(traits_.index, done.sent);
    world_.oracle.used(*claim, done.sent);
    claim->lock_id = *id;
    co_return;
  }
}

// --- READ and WRITE.

ClientOp<> Client::read_or_write(std::uint32_t owner, std::uint32_t file) {
  const Claim* claim = world_.oracle.find(traits_.index, owner, file);
  const bool write = claim == nullptr ? random_.percent(50) : (claim->access & OPEN4_SHARE_ACCESS_WRITE) != 0;
  const bool without_state = claim == nullptr;
  stateid4 id{};
  if (claim != nullptr) id = claim->lock_id.value_or(claim->open_id);
  const offset4 offset = 8 * random_.below(lock_cells);
  const std::uint64_t tag =
      (std::uint64_t{traits_.index} << 48) | (std::uint64_t{incarnation_} << 32) | ++names_made_;
  Request request = at_file(file);
  if (write)
    request.add(nfs_opnum4::OP_WRITE, WRITE4args{.stateid = id,
                                                 .offset = offset,
                                                 .stable = stable_how4::FILE_SYNC4,
                                                 .data = payload_of(std::as_bytes(std::span(&tag, 1)))});
  else
    request.add(nfs_opnum4::OP_READ, READ4args{.stateid = id, .offset = offset, .count = 8});
  world_.oracle.dispute(traits_.index, file, write);
  Outcome done = co_await run(std::move(request), write);
  const nfsstat4 status = status_behind(done, 1);
  world_.trace.add(traits_.index, file, "owner {} {}{}: {}", owner, write ? "writes" : "reads",
                   without_state ? " without state" : "", name_of(status));
  if (write && !done.lost && status == NFS4_OK && done.one_life) {
    const std::uint64_t times = world_.changes.times(fmt::format("write {}", tag));
    if (times != 1)
      world_.oracle.violation("exactly_once", traits_.index, file,
                              fmt::format("a WRITE was done {} times", times));
  }
  if (!still_ours(done, status, owner, file) || status != NFS4_OK) co_return;
  if (without_state) {
    world_.oracle.done_without_state(traits_.index, file, write, done.sent);
  } else {
    if (traits_.minor_version == 0) world_.oracle.renewed(traits_.index, done.sent);
    claim = world_.oracle.find(traits_.index, owner, file);
    if (claim != nullptr) world_.oracle.used(*claim, done.sent);
  }
}

ClientOp<> Client::long_reply() {
  // What Linux asks for.
  constexpr std::array<std::uint32_t, 2> attributes{0x0010'011a, 0x00b0'a23a};
  Request request;
  request.add(nfs_opnum4::OP_PUTROOTFH);
  for (std::uint32_t i = fore_.ca_maxoperations - 2; i > 0; --i) {
    const std::uint64_t dice = random_.below(10);
    if (dice < 5)
      request.add(nfs_opnum4::OP_GETATTR, GETATTR4args{attributes});
    else if (dice < 7)
      request.add(nfs_opnum4::OP_GETFH);
    else
      request.add(nfs_opnum4::OP_PUTROOTFH);
  }
  const Outcome done = co_await run(std::move(request), random_.percent(50));
  world_.trace.add(traits_.index, {}, "asks for much: {}", name_of(done.response.status()));
}

// --- Names: CREATE, RENAME and REMOVE of what nobody else knows.

ClientOp<bool> Client::name_operation(Request request, std::string change, nfsstat4 twice) {
  Outcome done = co_await run(std::move(request), true);
  const nfsstat4 status = done.response.status();
  world_.trace.add(traits_.index, {}, "{}: {}", change, name_of(status));
  if (done.lost) co_return false;
  const std::uint64_t times = world_.changes.times(change);
  if (status == NFS4_OK && times != 1)
    world_.oracle.violation("exactly_once", traits_.index, {},
                            fmt::format("\"{}\" was answered OK and done {} times", change, times));
  if (status == twice && done.one_life)
    world_.oracle.violation("exactly_once", traits_.index, {},
                            fmt::format("\"{}\" was answered {}: executed again", change, name_of(status)));
  co_return status == NFS4_OK;
}

ClientOp<> Client::names(std::uint32_t owner) {
  const std::string name = fmt::format("c{}.{}.{}.{}", traits_.index, incarnation_, owner, ++names_made_);
  Request create;
  create.add(nfs_opnum4::OP_PUTROOTFH);
  create.add(nfs_opnum4::OP_CREATE,
             CREATE4args{.objtype = createtype4::with_NF4SOCK(nfs_ftype4::NF4DIR), .objname = name});
  const bool made = co_await name_operation(std::move(create), "make " + name, NFS4ERR_EXIST);
  if (!made) co_return;
  const std::string other = name + "'";
  Request rename;
  rename.add(nfs_opnum4::OP_PUTROOTFH).add(nfs_opnum4::OP_SAVEFH);
  rename.add(nfs_opnum4::OP_RENAME, RENAME4args{name, other});
  const bool renamed = co_await name_operation(std::move(rename), "rename " + name, NFS4ERR_NOENT);
  if (!renamed) co_return;
  Request remove;
  remove.add(nfs_opnum4::OP_PUTROOTFH);
  remove.add(nfs_opnum4::OP_REMOVE, REMOVE4args{other});
  (void)co_await name_operation(std::move(remove), "remove " + other, NFS4ERR_NOENT);
}

}  // namespace braid::sim
