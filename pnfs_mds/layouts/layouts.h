// Layouts as a kind of state (RFC 8881 sections 12.5 and 13): one for each client and file. A layout is of
// the whole file, and goes with the client's last open of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/state/file_state.h"
#include "nfs4/state/kind.h"
#include "nfs4/state/registry.h"
#include "nfs4/state/state_use.h"
#include "pnfs_mds/cluster.h"
#include "pnfs_mds/layouts/devices.h"
#include "pnfs_mds/layouts/layout_counters.h"
#include "pnfs_mds/layouts/layout_files.h"
#include "pnfs_mds/layouts/live_grants.h"

namespace braid::nfs4::state {
class States;
}

namespace braid::pnfs_mds::layouts {

struct LayoutState final : nfs4::state::State {
  static constexpr nfs4::state::StateKind of_kind = nfs4::state::StateKind::layout;
  LayoutState(nfs4::state::ClientRef whose, nfs4::state::FileState& of, LayoutFiles::Hold held)
      : State(of_kind, std::move(whose)), file(&of), hold(std::move(held)) {}
  // Runs without the lock on all states (DeferredWork::gone).
  ~LayoutState() override;

  nfs4::state::FileState* file;  // null once it is off its file
  const LayoutFiles::Hold hold;
  LiveGrants::Hold grant;  // the first one: the client may use all that it got since
  bool reads = false;      // LAYOUTIOMODE4_READ is granted
  bool writes = false;     // LAYOUTIOMODE4_RW is, and the content knows of it
};

// What LAYOUTGET asks for, once it is known what the file is.
struct LayoutRequest {
  nfs4::state::StateUse use;  // a layout stateid, or that of an open, a lock or a delegation
  bool writes = false;
  LayoutFiles::Hold file;
  LiveGrants::Hold grant;
};

// Called with the lock on all states held, as every kind of state; the parts that are not state are
// thread-safe. `cluster` outlives it.
class Layouts final : public nfs4::state::Kind {
 public:
  explicit Layouts(Cluster& cluster);

  // The layouts of the server that `kinds` belong to; null: it has none.
  static Layouts* among(std::span<nfs4::state::Kind* const> kinds);

  // --- Of any thread.
  [[nodiscard]] Cluster& cluster() { return cluster_; }
  [[nodiscard]] Devices& devices() { return devices_; }
  [[nodiscard]] LayoutFiles& files() { return files_; }
  [[nodiscard]] LiveGrants& grants() { return grants_; }
  [[nodiscard]] LayoutCounters& counters() { return counters_; }

  // --- Under the lock.
  // Whether a LAYOUTGET may bring this stateid, of a client with sessions: a layout stateid whose seqid is
  // not from the future, or another one that allows what the layout is for. BAD_STATEID, OPENMODE.
  [[nodiscard]] base::Result<void, nfs4::nfsstat4> admit(nfs4::state::States& states,
                                                         const nfs4::state::StateUse& use, bool writes,
                                                         nfs4::state::DeferredWork& work) const;
  // Grants it: the new stateid. A client that comes with another stateid than that of the layout that it has
  // knows nothing of that one any more, which ends. LAYOUTTRYLATER: there are too many states.
  base::Result<nfs4::stateid4, nfs4::nfsstat4> grant(nfs4::state::States& states, LayoutRequest& request,
                                                     nfs4::state::DeferredWork& work);
  // The layout that this stateid of the client names, however old its seqid is. BAD_STATEID.
  [[nodiscard]] base::Result<LayoutState*, nfs4::nfsstat4> find(const nfs4::state::StateUse& use) const;
  // These iomodes are returned: the stateid of what is left, or nothing.
  std::optional<nfs4::stateid4> give_back(LayoutState& layout, bool reads, bool writes,
                                          nfs4::state::DeferredWork& work);
  // All layouts of the client, or those of one export.
  void give_back_all(nfs4::clientid4 client, std::optional<vfs::ExportId> only,
                     nfs4::state::DeferredWork& work);

  // --- Kind
  void added_to(nfs4::state::StateRegistry& registry) override { registry_ = &registry; }
  void end(nfs4::state::State& state, nfs4::state::DeferredWork& work) override;
  void revoke(nfs4::state::State& state, nfs4::state::DeferredWork& work) override;
  [[nodiscard]] bool freeable(const nfs4::state::State& state) const override { return state.revoked; }
  [[nodiscard]] bool describe(const nfs4::state::State& state, nfs4::state::StateLine& line) const override;
  void last_close(nfs4::state::FileState& file, const nfs4::state::Client& client,
                  nfs4::state::DeferredWork& work) override;
  void delegation_ends(nfs4::state::FileState& file, const nfs4::state::Client& client,
                       nfs4::state::DeferredWork& work) override;
  void tick(base::TimePoint lease_ago, base::TimePoint now, nfs4::state::DeferredWork& work) override;

 private:
  using Key = std::pair<nfs4::clientid4, const nfs4::state::FileState*>;

  [[nodiscard]] LayoutState* find(nfs4::clientid4 client, const nfs4::state::FileState& file) const;
  // Off its file; whoever calls this has the file forgotten if it is unused.
  void detach(LayoutState& layout);
  // The same, and the file is forgotten if it is unused.
  void take_off(LayoutState& layout, nfs4::state::DeferredWork& work);
  // Off its file, and gone.
  void finish(LayoutState& layout, nfs4::state::DeferredWork& work);
  void end_without_claim(nfs4::state::FileState& file, const nfs4::state::Client& client,
                         nfs4::state::DeferredWork& work);

  Cluster& cluster_;
  Devices devices_;
  LayoutFiles files_;
  LiveGrants grants_;
  LayoutCounters counters_;
  nfs4::state::StateRegistry* registry_ = nullptr;
  std::map<Key, LayoutState*> by_holder_;     // revoked ones are not in it
  std::vector<nfs4::state::State*> revoked_;  // to be ended with the next tick
};

}  // namespace braid::pnfs_mds::layouts
