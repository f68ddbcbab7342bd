// Layouts that somebody wants back, and clients that are shut out.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "nfs4/state/opens/opens.h"
#include "nfs4/state/states.h"
#include "pnfs_mds/layouts/layouts.h"
#include "vfs/wire_handle.h"

namespace braid::pnfs_mds::layouts {

using nfs4::stateid4;
using nfs4::state::ClientRef;
using nfs4::state::DeferredWork;
using nfs4::state::FileState;
using nfs4::state::OpenRequest;
using nfs4::state::State;
using nfs4::state::StateKind;

namespace {

// Soon after LAYOUTGET the client may not have its answer yet.
constexpr base::Duration new_for = std::chrono::seconds(1);

bool meant(const BulkRecall& recall, const LayoutState& layout) {
  return layout.is_recalled() &&
         (recall.type == nfs4::layoutreturn_type4::LAYOUTRETURN4_ALL || layout.from->fsid == recall.fsid);
}

}  // namespace

LayoutState* Layouts::find(const FileRecall& recall) const {
  const auto found = registry_->ids().find({.seqid = 0, .other = recall.layout}, 1);
  if (!found || (*found)->kind != StateKind::layout || (*found)->client != recall.client) return nullptr;
  auto* const layout = static_cast<LayoutState*>(*found);
  return layout->file == nullptr ? nullptr : layout;
}

bool Layouts::permitted(const vfs::ExportTable& exports, const vfs::FileHandle& file,
                        const vfs::Address& address, bool writes) {
  const vfs::Export* const from = exports.by_handle(file.view());
  const vfs::ExportRule* const rule = from == nullptr ? nullptr : from->rule_of(address);
  return rule != nullptr && !(writes && rule->read_only);
}

// --- Recalls.

// RFC 8881 12.5.5.2.1.3: the client knows by the seqid whether an answer to it is still on its way.
void Layouts::note_recall(LayoutState& layout, base::TimePoint arrived) {
  const base::TimePoint now = recalls_.time_of(arrived);
  layout.recalled = now;
  layout.bump();
  recalled_.emplace(now, &layout);
  counters_.recalled();
}

void Layouts::recall(LayoutState& layout, bool epoch_ends, base::TimePoint now, DeferredWork& work) {
  if (layout.is_recalled()) return;
  note_recall(layout, now);
  work.more.emplace_back(
      [this, recall = FileRecall{layout.client, layout.other, layout.file->handle, epoch_ends}]() mutable {
        recalls_.recall(std::move(recall));
        return io::ready_op();
      });
}

bool Layouts::clear_of_others(const vfs::FileHandle& handle, nfs4::clientid4 except, base::TimePoint now,
                              const std::shared_ptr<Waiter>& waiter, std::vector<ClientRef>& blockers,
                              DeferredWork& work) {
  bool clear = !waiting_.barred(handle);
  if (const FileState* const file = registry_->find_file(handle)) {
    for (State* const state : file->others) {
      if (state->kind != StateKind::layout || state->client->id == except) continue;
      clear = false;
      blockers.push_back(state->client);
      recall(static_cast<LayoutState&>(*state), true, now, work);
    }
  }
  if (!clear) waiting_.add_waiter(handle, waiter);
  return clear;
}

template <class F>
bool Layouts::recall_where(F minded, base::TimePoint now, DeferredWork& work) {
  struct Less {
    bool operator()(const BulkRecall& a, const BulkRecall& b) const {
      return std::tie(a.client->id, a.fsid.major_, a.fsid.minor_) <
             std::tie(b.client->id, b.fsid.major_, b.fsid.minor_);
    }
  };
  std::set<BulkRecall, Less> recalls;
  bool any = false;
  for (const auto& [client, states] : registry_->clients())
    for (const LayoutState* const layout : all_of(client)) {
      if (!minded(*layout)) continue;
      any = true;
      if (!layout->is_recalled()) recalls.insert({.client = layout->client, .fsid = layout->from->fsid});
    }
  for (const BulkRecall& recall : recalls) {
    for (LayoutState* const layout : all_of(recall.client->id))
      if (!layout->is_recalled() && layout->from->fsid == recall.fsid) note_recall(*layout, now);
    work.more.emplace_back([this, recall] {
      recalls_.recall(recall);
      return io::ready_op();
    });
  }
  return any;
}

void Layouts::recall_unpermitted(const vfs::ExportTable& exports, base::TimePoint now, DeferredWork& work) {
  const auto minded = [&](const LayoutState& layout) {
    return !permitted(exports, layout.file->handle, layout.from->address, layout.writes);
  };
  (void)recall_where(minded, now, work);
}

bool Layouts::recall_export(vfs::ExportId from, base::TimePoint now, DeferredWork& work) {
  const auto minded = [&](const LayoutState& layout) {
    return vfs::HandleCodec::export_of(layout.file->handle.view()) == from;
  };
  return recall_where(minded, now, work);
}

void Layouts::recall_all(nfs4::clientid4 client, base::TimePoint now, DeferredWork& work) {
  const std::vector<LayoutState*> all = all_of(client);
  if (all.empty()) return;
  const BulkRecall recall{
      .client = all.front()->client, .type = nfs4::layoutreturn_type4::LAYOUTRETURN4_ALL, .fsid = {}};
  for (LayoutState* const layout : all)
    if (!layout->is_recalled()) note_recall(*layout, now);
  work.more.emplace_back([this, recall] {
    recalls_.recall(recall);
    return io::ready_op();
  });
}

// RFC 8881 2.10.6.3. A client that has sent another request on the slot has had the answer.
void Layouts::refer(const LayoutState& layout, Referring& referring) {
  const auto session = layout.from->session.lock();
  if (session == nullptr || !session->is_last(layout.slot, layout.sequence)) return;
  const nfs4::callback::ReferringCall call{
      .session = session->id, .slot = layout.slot, .sequence = layout.sequence};
  // One request may have brought several of them.
  const bool told = std::ranges::find(referring, call) != referring.end();
  if (!told && referring.size() < nfs4::callback::referring_max) referring.push_back(call);
}

std::optional<stateid4> Layouts::recalled(const FileRecall& recall, Referring& referring) const {
  const LayoutState* const layout = find(recall);
  if (layout == nullptr || !layout->is_recalled()) return std::nullopt;
  refer(*layout, referring);
  return layout->id();
}

bool Layouts::any_recalled(const BulkRecall& recall, Referring& referring) const {
  bool any = false;
  for (const LayoutState* const layout : all_of(recall.client->id)) {
    if (!meant(recall, *layout)) continue;
    any = true;
    refer(*layout, referring);
  }
  return any;
}

void Layouts::bump_recalled(const FileRecall& recall) {
  if (LayoutState* const layout = find(recall)) layout->bump();
}

bool Layouts::is_new(const FileRecall& recall, base::TimePoint now) const {
  const LayoutState* const layout = find(recall);
  return layout != nullptr && now - layout->made < new_for;
}

void Layouts::client_has_none(const FileRecall& recall, DeferredWork& work) {
  LayoutState* const layout = find(recall);
  if (layout != nullptr && layout->is_recalled()) finish_returned(*layout, work);
}

void Layouts::client_has_none(const BulkRecall& recall, DeferredWork& work) {
  for (LayoutState* const layout : all_of(recall.client->id))
    if (meant(recall, *layout)) finish_returned(*layout, work);
}

// --- Bars.

void Layouts::bar(std::span<LayoutState* const> layouts, DeferredWork& work) {
  if (layouts.empty()) return;
  const pnfs::ClientTag tag = client_tags_.of(*layouts.front()->client);
  const auto bar = std::make_shared<Bar>(tag, cluster_.grants().last());
  for (const LayoutState* const layout : layouts) {
    bar->add(layout->file->handle, layout->hold, layout->writes);
    waiting_.add_bar(layout->file->handle);
  }
  counters_.barred();
  work.more.emplace_back([this, bar] {
    recalls_.put(bar);
    return io::ready_op();
  });
}

void Layouts::bar_ended(const Bar& bar) {
  bar.each_file([this](const vfs::FileHandle& file) { waiting_.end_bar(file); });
}

// An evicted client, one that has begun anew or is silent, goes on as long as nobody tells the data servers.
void Layouts::client_leaves(nfs4::clientid4 client, DeferredWork& work) { bar(all_of(client), work); }

bool Layouts::in_the_way(FileState& file, const OpenRequest& request, std::vector<ClientRef>& blockers,
                         DeferredWork& work) {
  const std::uint8_t denied = request.share.deny;
  // Whoever reclaims had it before anybody got a layout.
  if (denied == 0 || request.reclaim) return false;
  bool waits = earlier_live() || waiting_.barred(file.handle);
  for (State* const state : file.others) {
    if (state->kind != StateKind::layout || state->client == request.client) continue;
    auto& layout = static_cast<LayoutState&>(*state);
    // Whoever has a layout to write may read by it, too.
    if ((denied & nfs4::state::share_read) == 0 && !layout.writes) continue;
    blockers.push_back(layout.client);
    recall(layout, false, request.now, work);
    waits = true;
  }
  return waits;
}

void Layouts::tick(base::TimePoint lease_ago, base::TimePoint /*now*/, DeferredWork& work) {
  for (State* const state : std::exchange(revoked_, {})) registry_->erase(*state, work);
  std::map<nfs4::clientid4, std::vector<LayoutState*>> late;
  for (const auto& [when, layout] : recalled_) {
    if (when > lease_ago) break;
    late[layout->client->id].push_back(layout);
  }
  for (const auto& [client, layouts] : late) {
    bar(layouts, work);
    for (LayoutState* const layout : layouts) revoke(*layout, work);
  }
}

}  // namespace braid::pnfs_mds::layouts
