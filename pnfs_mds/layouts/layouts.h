// Layouts as a kind of state (RFC 8881 sections 12.5 and 13): one for each client and file. A layout is of
// the whole file, and goes with the client's last open of it.
//
// Some end otherwise. One that somebody minds is recalled; if it does not come back within a lease, or if its
// client is gone or loses all it has, it is taken back, and its client is barred: it counts as if it were
// still there until all data servers of the file refuse what was granted to that client until then.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "nfs4/callback/cb_compound.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/state/clients/session.h"
#include "nfs4/state/file_state.h"
#include "nfs4/state/kind.h"
#include "nfs4/state/registry.h"
#include "nfs4/state/state_use.h"
#include "pnfs_mds/cluster.h"
#include "pnfs_mds/layouts/bar.h"
#include "pnfs_mds/layouts/client_tags.h"
#include "pnfs_mds/layouts/devices.h"
#include "pnfs_mds/layouts/ended_grants.h"
#include "pnfs_mds/layouts/layout_counters.h"
#include "pnfs_mds/layouts/layout_files.h"
#include "pnfs_mds/layouts/live_grants.h"
#include "pnfs_mds/layouts/recalls.h"
#include "pnfs_mds/layouts/waiting_files.h"
#include "rpc/transport.h"
#include "vfs/export.h"

namespace braid::nfs4::state {
class States;
}

namespace braid::pnfs_mds::layouts {

// Whence the client asked for a layout, and where the file is. Layouts that agree in it share one: those that
// a client gets one after the other.
struct AskedFrom {
  vfs::Address address;
  nfs4::fsid4 fsid;  // of the file
  std::weak_ptr<nfs4::state::Session> session;

  friend bool operator==(const AskedFrom& a, const AskedFrom& b) {
    return a.address == b.address && a.fsid == b.fsid && !a.session.owner_before(b.session) &&
           !b.session.owner_before(a.session);
  }
};

// The slot of the session, and its sequence number, that a LAYOUTGET came by.
struct AskedIn {
  std::uint32_t slot = 0;
  std::uint32_t sequence = 0;
};

struct LayoutState final : nfs4::state::State {
  static constexpr nfs4::state::StateKind of_kind = nfs4::state::StateKind::layout;
  LayoutState(nfs4::state::ClientRef whose, nfs4::state::FileState& of, LayoutHold held)
      : State(of_kind, std::move(whose)), file(&of), hold(std::move(held)) {}
  // Runs without the lock on all states (DeferredWork::gone).
  ~LayoutState() override;
  [[nodiscard]] bool is_recalled() const { return recalled != base::TimePoint::max(); }

  // In an order without gaps: there are many of them.
  nfs4::state::FileState* file;  // null once it is off its file
  const LayoutHold hold;
  std::shared_ptr<const AskedFrom> from;  // the last time; not null
  LiveGrants::Hold grant;                 // the first one: the client may use all that it got since
  pnfs::GrantNumber newest;               // that was granted
  pnfs::GrantNumber writes_from;  // of `writes`; 0: its client may have returned some of a larger number
  base::TimePoint recalled = base::TimePoint::max();
  std::uint32_t sequence = 0;   // AskedIn, the last time
  std::uint32_t slot : 30 = 0;  // sessions have fewer
  bool reads : 1 = false;       // LAYOUTIOMODE4_READ is granted
  bool writes : 1 = false;      // LAYOUTIOMODE4_RW is, and the content knows of it
};

// What LAYOUTGET asks for, once it is known what the file is.
struct LayoutRequest {
  nfs4::state::StateUse use;  // a layout stateid, or that of an open, a lock or a delegation
  bool writes = false;
  LayoutHold file;
  AskedFrom from;
  LiveGrants::Hold grant;
  AskedIn asked_in{};
};

// Called with the lock on all states held, as every kind of state; the parts that are not state are
// thread-safe. `cluster` outlives it.
class Layouts final : public nfs4::state::Kind {
 public:
  using Referring = std::vector<nfs4::callback::ReferringCall>;

  // `data_transport`: by which clients are to reach data servers, the first choice first; none: by the one
  // that they reach this server by, or by TCP where a data server does not have it.
  explicit Layouts(Cluster& cluster, std::vector<rpc::Transport> data_transport = {});

  // The layouts of the server that `kinds` belong to; null: it has none.
  static Layouts* among(std::span<nfs4::state::Kind* const> kinds);

  // --- Of any thread.
  [[nodiscard]] Cluster& cluster() { return cluster_; }
  // Of a server's addresses those that a client is told that reaches us by `own`, in their order.
  [[nodiscard]] std::vector<Address> addresses_for(rpc::Transport own, const DataServerInfo& server) const;
  [[nodiscard]] Devices& devices() { return devices_; }
  [[nodiscard]] const ClientTags& client_tags() const { return client_tags_; }
  [[nodiscard]] LayoutFiles& files() { return files_; }
  [[nodiscard]] LiveGrants& grants() { return grants_; }
  [[nodiscard]] LayoutCounters& counters() { return counters_; }
  [[nodiscard]] Recalls& recalls() { return recalls_; }
  // Clients may use what a run before has granted: nothing that it would be in the way of is granted.
  [[nodiscard]] bool earlier_live() const { return earlier_live_.load(std::memory_order_acquire); }
  void earlier_ended() { earlier_live_.store(false, std::memory_order_release); }
  // Whether these exports let a client at that address have a layout of the file.
  [[nodiscard]] static bool permitted(const vfs::ExportTable& exports, const vfs::FileHandle& file,
                                      const vfs::Address& address, bool writes);

  // --- Under the lock.
  // Whether a LAYOUTGET may bring this stateid, of a client with sessions: a layout stateid whose seqid is
  // not from the future, or another one; and the client has the file open, or a delegation of it, for what
  // the layout is for. BAD_STATEID, OPENMODE. RECALLCONFLICT: somebody waits for the layouts of this file, or
  // for the client's own.
  [[nodiscard]] base::Result<void, nfs4::nfsstat4> admit(nfs4::state::States& states,
                                                         const nfs4::state::StateUse& use, bool writes,
                                                         nfs4::state::DeferredWork& work) const;
  // Grants it: the new stateid. A client that comes with another stateid than that of the layout that it has
  // knows nothing of that one any more, which ends. Errors as those of admit(); LAYOUTTRYLATER: there are too
  // many states; LAYOUTUNAVAILABLE: `exports`, which are those in force, do not permit it.
  base::Result<nfs4::stateid4, nfs4::nfsstat4> grant(nfs4::state::States& states,
                                                     const vfs::ExportTable& exports, LayoutRequest& request,
                                                     nfs4::state::DeferredWork& work);
  // The layout that this stateid of the client names, however old its seqid is. BAD_STATEID.
  [[nodiscard]] base::Result<LayoutState*, nfs4::nfsstat4> find(const nfs4::state::StateUse& use) const;
  // These iomodes are returned: the stateid of what is left, or nothing.
  std::optional<nfs4::stateid4> give_back(LayoutState& layout, bool reads, bool writes,
                                          nfs4::state::DeferredWork& work);
  // All layouts of the client, or those of one export.
  void give_back_all(nfs4::clientid4 client, std::optional<vfs::ExportId> only,
                     nfs4::state::DeferredWork& work);

  // --- What somebody wants back (layouts_recalled.cc).
  // Whether nobody but that client has a layout of the file, or is being shut out of it. If not, the layouts
  // are recalled; `waiter` is woken when one has ended, and who has one is appended to `blockers`.
  bool clear_of_others(const vfs::FileHandle& file, nfs4::clientid4 except, base::TimePoint now,
                       const std::shared_ptr<Waiter>& waiter, std::vector<nfs4::state::ClientRef>& blockers,
                       nfs4::state::DeferredWork& work);
  [[nodiscard]] WaitingFiles& waiting() { return waiting_; }
  // Those that the exports do not permit (any more), together with all that their clients have in those file
  // systems.
  void recall_unpermitted(const vfs::ExportTable& exports, base::TimePoint now,
                          nfs4::state::DeferredWork& work);
  // Those of one export, in the same way. Whether there are any.
  bool recall_export(vfs::ExportId from, base::TimePoint now, nfs4::state::DeferredWork& work);
  // All of the client.
  void recall_all(nfs4::clientid4 client, base::TimePoint now, nfs4::state::DeferredWork& work);
  // The stateid to recall it with; nothing: it has ended. Of both: the answers to LAYOUTGET that the client
  // may not have yet, as many as one call tells of, are appended to `referring`.
  [[nodiscard]] std::optional<nfs4::stateid4> recalled(const FileRecall& recall, Referring& referring) const;
  [[nodiscard]] bool any_recalled(const BulkRecall& recall, Referring& referring) const;
  // Whether the client has a layout of the file.
  [[nodiscard]] bool holds(const vfs::FileHandle& file, nfs4::clientid4 client) const;
  // LayoutRecall::handles()
  [[nodiscard]] std::optional<pnfs::KeptHandles> handles(const vfs::FileHandle& file,
                                                         nfs4::clientid4 client) const;
  // The client is ahead of that stateid.
  void bump_recalled(const FileRecall& recall);
  // Whether it was granted just now, so that the client need not have heard of it yet.
  [[nodiscard]] bool is_new(const FileRecall& recall, base::TimePoint now) const;
  // The client says that it has none of what is recalled.
  void client_has_none(const FileRecall& recall, nfs4::state::DeferredWork& work);
  void client_has_none(const BulkRecall& recall, nfs4::state::DeferredWork& work);
  void bar_ended(const Bar& bar);

  // --- Kind
  void added_to(nfs4::state::StateRegistry& registry) override { registry_ = &registry; }
  void end(nfs4::state::State& state, nfs4::state::DeferredWork& work) override;
  void revoke(nfs4::state::State& state, nfs4::state::DeferredWork& work) override;
  [[nodiscard]] bool freeable(const nfs4::state::State& state) const override { return state.revoked; }
  [[nodiscard]] bool describe(const nfs4::state::State& state, nfs4::state::StateLine& line) const override;
  [[nodiscard]] bool in_the_way(nfs4::state::FileState& file, const nfs4::state::OpenRequest& request,
                                std::vector<nfs4::state::ClientRef>& blockers,
                                nfs4::state::DeferredWork& work) override;
  void client_leaves(nfs4::clientid4 client, nfs4::state::DeferredWork& work) override;
  void last_close(nfs4::state::FileState& file, const nfs4::state::Client& client,
                  nfs4::state::DeferredWork& work) override;
  void delegation_ends(nfs4::state::FileState& file, const nfs4::state::Client& client,
                       nfs4::state::DeferredWork& work) override;
  void tick(base::TimePoint lease_ago, base::TimePoint now, nfs4::state::DeferredWork& work) override;

 private:
  static void refer(const LayoutState& layout, Referring& referring);
  [[nodiscard]] static LayoutState* find(nfs4::clientid4 client, const nfs4::state::FileState& file);
  // Not of revoked ones, and null for those, too.
  [[nodiscard]] LayoutState* find(const FileRecall& recall) const;
  // Revoked ones are not among them.
  [[nodiscard]] std::vector<LayoutState*> all_of(nfs4::clientid4 client) const;
  // Those that `minded` is true of, and what their clients have in the same file systems. Whether there are
  // any.
  template <class F>
  bool recall_where(F minded, base::TimePoint now, nfs4::state::DeferredWork& work);
  // The same as `from`: that of the client's newest layout, if it agrees.
  [[nodiscard]] static std::shared_ptr<const AskedFrom> shared(const nfs4::state::ClientStates& states,
                                                               AskedFrom&& from);
  // As admit(), of what is in the file's way.
  [[nodiscard]] base::Result<void, nfs4::nfsstat4> check_recalls(const nfs4::state::StateUse& use,
                                                                 const LayoutState* layout) const;
  // Nobody knows of it yet but us: it has another seqid, by which the client is asked for it.
  void note_recall(LayoutState& layout, base::TimePoint arrived);
  void recall(LayoutState& layout, bool epoch_ends, base::TimePoint now, nfs4::state::DeferredWork& work);
  // All of them are one client's.
  void bar(std::span<LayoutState* const> layouts, nfs4::state::DeferredWork& work);
  // The client has given it back.
  void finish_returned(LayoutState& layout, nfs4::state::DeferredWork& work);
  // Off its file; whoever calls this has the file forgotten if it is unused.
  void detach(LayoutState& layout);
  // The same, and the file is forgotten if it is unused.
  void take_off(LayoutState& layout, nfs4::state::DeferredWork& work);
  // Off its file, and gone.
  void finish(LayoutState& layout, nfs4::state::DeferredWork& work);
  void end_without_claim(nfs4::state::FileState& file, const nfs4::state::Client& client,
                         nfs4::state::DeferredWork& work);

  Cluster& cluster_;
  const std::vector<rpc::Transport> data_transport_;
  Devices devices_;
  ClientTags client_tags_;
  LayoutFiles files_;
  LiveGrants grants_;
  LayoutCounters counters_;
  Recalls recalls_;
  std::atomic<bool> earlier_live_;
  nfs4::state::StateRegistry* registry_ = nullptr;
  std::vector<nfs4::state::State*> revoked_;  // to be ended with the next tick
  std::set<std::pair<base::TimePoint, LayoutState*>> recalled_;
  EndedGrants ended_;
  WaitingFiles waiting_;
};

}  // namespace braid::pnfs_mds::layouts
