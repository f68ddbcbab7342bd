#include "pnfs_mds/layouts/recalls.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "nfs4/clients.h"
#include "nfs4/ops/state_access.h"
#include "nfs4/state/states.h"
#include "pnfs_mds/layouts/layouts.h"
#include "pnfs_mds/together.h"

namespace braid::pnfs_mds::layouts {

using enum nfs4::nfsstat4;
using nfs4::nfs_cb_opnum4;
using nfs4::callback::Answer;
using nfs4::callback::Failure;
using nfs4::state::ClientRef;
using nfs4::state::DeferredWork;
using nfs4::state::States;

namespace {

constexpr auto recalled_type = static_cast<std::uint32_t>(nfs4::layouttype4::LAYOUT4_NFSV4_1_FILES);
constexpr std::uint64_t every_byte = std::numeric_limits<std::uint64_t>::max();
// What keeps a client from answering at first takes a moment: an answer to LAYOUTGET that is on its way, I/O.
constexpr unsigned early_attempts = 10;
// A client that says of a new layout that it has none may not have its answer to LAYOUTGET yet (RFC 8881
// 12.5.5.2.1): where it could do harm by it, it is asked so often.
constexpr unsigned doubted_attempts = 5;
// Between two attempts to reach a data server that does not answer.
constexpr base::Duration server_pause = std::chrono::milliseconds(250);

nfs4::CB_LAYOUTRECALL4args args_of(const nfs4::layoutrecall4& what) {
  return {.clora_type = recalled_type,
          .clora_iomode = nfs4::layoutiomode4::LAYOUTIOMODE4_ANY,
          .clora_changed = false,
          .clora_recall = what};
}

}  // namespace

void Recalls::start(const nfs4::ServerState& state, io::Reactor& home) {
  state_ = &state;
  home_.with([&](io::Reactor*& at) { at = &home; });
  stopped_ = false;
}

base::TimePoint Recalls::time_of(base::TimePoint arrived) const {
  return state_ == nullptr ? arrived : std::max(arrived, state_->clock.now());
}

void Recalls::stop() {
  if (stopped_.exchange(true)) return;
  home_.with([](io::Reactor*& at) { at = nullptr; });
  state_->states.with([this](States& /*states*/) { layouts_.waiting().wake_all(); });
  resting_.with([](auto& resting) {
    for (const std::weak_ptr<Waiter>& one : resting)
      if (const std::shared_ptr<Waiter> waiter = one.lock()) waiter->wake();
  });
}

io::Op<> Recalls::drained() {
  gate_.close();
  co_await gate_.drained();
}

template <class F>
void Recalls::in_background(F make) {
  home_.with([&](io::Reactor* home) {
    if (home == nullptr) return;
    home->post([this, make = std::move(make)] {
      if (!gate_.closed()) io::spawn(gate_, make());
    });
  });
}

// --- Waiting for others.

LayoutRecall::Pause Recalls::pause(const vfs::FileHandle& file) {
  state_->states.with([&](States& /*states*/) { layouts_.waiting().add_pause(file); });
  const auto end = [this, file](const void* /*nothing*/) {
    state_->states.with([&](States& /*states*/) { layouts_.waiting().end_pause(file); });
  };
  return {this, end};
}

io::Op<bool> Recalls::evict_silent(std::vector<ClientRef> blockers) {
  bool any = false;
  for (const ClientRef& blocker : blockers) {
    const auto gone = co_await state_->clients.evict_if_silent(blocker->id, state_->clock.now()).as_result();
    any = any || (gone && *gone);
  }
  if (any) (void)co_await nfs4::ops::settle_left(*state_).as_result();
  co_return any;
}

vfs::VfsOp<LayoutRecall::Pause> Recalls::others(vfs::FileHandle file, vfs::LeaseHolder except) {
  if (stopped_) co_return Pause();
  io::Reactor* const here = io::Reactor::current();
  base::check(here != nullptr, "who waits for a layout does so on a reactor");
  const base::TimePoint deadline = state_->clock.now() + patience;
  Pause paused;
  for (;;) {
    const base::TimePoint now = state_->clock.now();
    const auto waiter = std::make_shared<Waiter>(*here);
    std::vector<ClientRef> blockers;
    DeferredWork work;
    const bool clear = state_->states.with([&](States& /*states*/) {
      return layouts_.clear_of_others(file, except.value(), now, waiter, blockers, work);
    });
    (void)co_await nfs4::ops::settle(*state_, std::move(work)).as_result();
    if (clear) co_return std::move(paused);
    if (paused == nullptr) paused = pause(file);
    if (stopped_ || now >= deadline) co_await base::fail(vfs::Error::delay);
    const auto evicted = co_await evict_silent(std::move(blockers)).as_result();
    if (evicted && *evicted) continue;
    (void)co_await waiter->until(deadline).as_result();
  }
}

bool Recalls::holds(const vfs::FileHandle& file, vfs::LeaseHolder who) const {
  if (stopped_) return false;
  return state_->states.with([&](const States& /*states*/) { return layouts_.holds(file, who.value()); });
}

std::optional<pnfs::KeptHandles> Recalls::handles(const vfs::FileHandle& file, vfs::LeaseHolder who) const {
  if (stopped_) return std::nullopt;
  return state_->states.with([&](const States& /*states*/) { return layouts_.handles(file, who.value()); });
}

// --- CB_LAYOUTRECALL.

template <class Recall>
void Recalls::repeat(Recall recall) {
  if (stopped_ || state_->callbacks == nullptr) return;
  state_->callbacks->repeat(
      [this, kept = std::make_shared<Recall>(std::move(recall))] { return attempt(kept); });
}

void Recalls::recall(FileRecall recall) { repeat(std::move(recall)); }
void Recalls::recall(BulkRecall recall) { repeat(std::move(recall)); }

namespace {

using Again = nfs4::callback::Callbacks::Again;

Again after(Failure failure) {
  switch (failure) {
    case Failure::closing:
    case Failure::too_big:
      return Again::no;
    case Failure::busy:
      return Again::soon;
    default:
      return Again::later;
  }
}

// OK: it will return it. BAD_STATEID, BADHANDLE: our call may have overtaken the answer to its LAYOUTGET.
// What else a client says leaves the layout to the clock.
Again after(nfs4::nfsstat4 status, unsigned attempts) {
  switch (status) {
    case NFS4ERR_DELAY:
      return attempts <= early_attempts ? Again::soon : Again::later;
    case NFS4ERR_BAD_STATEID:
    case NFS4ERR_BADHANDLE:
      return Again::later;
    default:
      return Again::no;
  }
}

}  // namespace

io::Op<Recalls::Again> Recalls::attempt(std::shared_ptr<FileRecall> recall) {
  ++recall->attempts;
  Layouts::Referring referring;
  const auto id =
      state_->states.with([&](States& /*states*/) { return layouts_.recalled(*recall, referring); });
  if (!id) co_return Again::no;
  const auto args = args_of(nfs4::layoutrecall4::with_lor_layout(
      {.lor_fh = recall->file.view(), .lor_offset = 0, .lor_length = every_byte, .lor_stateid = *id}));
  const auto answer =
      co_await state_->callbacks
          ->call(recall->client->id, nfs_cb_opnum4::OP_CB_LAYOUTRECALL, args, std::move(referring))
          .as_result();
  if (!answer) co_return after(answer.error());
  if (answer->status == NFS4ERR_OLD_STATEID) {
    state_->states.with([&](States& /*states*/) { layouts_.bump_recalled(*recall); });
    co_return Again::soon;
  }
  if (answer->status != NFS4ERR_NOMATCHING_LAYOUT) co_return after(answer->status, recall->attempts);
  const base::TimePoint now = state_->clock.now();
  DeferredWork work;
  const bool doubtful = state_->states.with([&](States& /*states*/) {
    const bool doubted = !recall->epoch_ends && recall->attempts < doubted_attempts;
    if (doubted && layouts_.is_new(*recall, now)) return true;
    layouts_.client_has_none(*recall, work);
    return false;
  });
  (void)co_await nfs4::ops::settle(*state_, std::move(work)).as_result();
  co_return doubtful ? Again::soon : Again::no;
}

io::Op<Recalls::Again> Recalls::attempt(std::shared_ptr<BulkRecall> recall) {
  ++recall->attempts;
  Layouts::Referring referring;
  const bool any =
      state_->states.with([&](States& /*states*/) { return layouts_.any_recalled(*recall, referring); });
  if (!any) co_return Again::no;
  const bool all = recall->type == nfs4::layoutreturn_type4::LAYOUTRETURN4_ALL;
  const auto args = args_of(all ? nfs4::layoutrecall4::with_LAYOUTRETURN4_ALL()
                                : nfs4::layoutrecall4::with_lor_fsid(recall->fsid));
  const auto answer =
      co_await state_->callbacks
          ->call(recall->client->id, nfs_cb_opnum4::OP_CB_LAYOUTRECALL, args, std::move(referring))
          .as_result();
  if (!answer) co_return after(answer.error());
  if (answer->status != NFS4ERR_NOMATCHING_LAYOUT) co_return after(answer->status, recall->attempts);
  DeferredWork work;
  state_->states.with([&](States& /*states*/) { layouts_.client_has_none(*recall, work); });
  (void)co_await nfs4::ops::settle(*state_, std::move(work)).as_result();
  co_return Again::no;
}

// --- Bars.

void Recalls::put(std::shared_ptr<const Bar> bar) {
  in_background([this, bar = std::move(bar)] { return enforce(bar); });
}

io::Op<> Recalls::enforce(std::shared_ptr<const Bar> bar) {
  base::log_event(base::Level::info, "layouts_taken_back", "client_tag={:#x} last_grant={} servers={}",
                  bar->client().value(), bar->last().value(), bar->servers().size());
  std::vector<vfs::VfsOp<>> ops;
  ops.reserve(bar->servers().size());
  for (const pnfs::ServerNumber server : bar->servers())
    ops.push_back(shut_out(server, {bar->client(), bar->last()}));
  const auto results = co_await together(std::move(ops)).as_result();
  bool all = results.has_value();
  for (std::size_t i = 0; all && i < results->size(); ++i) all = (*results)[i].has_value();
  // When this server ends, nobody is let in any more.
  if (!all) co_return;
  state_->states.with([&](States& /*states*/) { layouts_.bar_ended(*bar); });
}

vfs::VfsOp<> Recalls::shut_out(pnfs::ServerNumber server, ClientFence fence) {
  for (;;) {
    const auto done = co_await cluster_.pending_fences().put(server, fence).as_result();
    if (done) co_return;
    if (stopped_) co_await base::fail(done.error());
    (void)co_await rest(server_pause).as_result();
  }
}

io::Op<> Recalls::rest(base::Duration time) {
  const auto waiter = std::make_shared<Waiter>(*io::Reactor::current());
  resting_.with([&](auto& resting) {
    std::erase_if(resting, [](const auto& one) { return one.expired(); });
    resting.push_back(waiter);
  });
  if (!stopped_) (void)co_await waiter->until(state_->clock.now() + time).as_result();
}

// --- What a run before has granted.

void Recalls::end_earlier() {
  in_background([this] { return fence_earlier(); });
}

io::Op<> Recalls::fence_earlier() {
  if (std::exchange(fencing_earlier_, true)) co_return;
  const pnfs::GrantNumber lowest = layouts_.grants().lowest();
  std::vector<vfs::VfsOp<>> ops;
  const std::vector<DataServerInfo> servers = cluster_.servers().all();
  ops.reserve(servers.size());
  for (const DataServerInfo& server : servers) ops.push_back(fence_earlier(server.number, lowest));
  const auto results = co_await together(std::move(ops)).as_result();
  bool all = results.has_value();
  for (std::size_t i = 0; all && i < results->size(); ++i) all = (*results)[i].has_value();
  if (all) layouts_.earlier_ended();
  fencing_earlier_ = false;
}

// One that has barred itself learns it from the answer to its next heartbeat.
vfs::VfsOp<> Recalls::fence_earlier(pnfs::ServerNumber server, pnfs::GrantNumber lowest) {
  const auto barred_itself = [&] {
    const std::optional<ServerStanding> standing = cluster_.servers().standing(server);
    return !standing || standing->barred_itself;
  };
  if (barred_itself()) co_return;
  std::vector<Fence> one(1, LowestFence{lowest});
  const auto told = co_await cluster_.calls().fence(server, std::move(one)).as_result();
  if (told || barred_itself()) co_return;
  co_await base::Result<void, vfs::Error>(told);
}

}  // namespace braid::pnfs_mds::layouts
