// What becomes of a layout that somebody wants back, outside of the lock on all states: the client is asked,
// and shut out at the data servers if it does not return it (RFC 8881 sections 12.5.5 and 20.3).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/guarded.h"
#include "io/gate.h"
#include "io/op.h"
#include "io/reactor.h"
#include "nfs4/callback/callbacks.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/server_state.h"
#include "nfs4/state/clients/client.h"
#include "nfs4/state/state_id.h"
#include "pnfs_mds/cluster.h"
#include "pnfs_mds/layout_recall.h"
#include "pnfs_mds/layouts/bar.h"
#include "pnfs_mds/layouts/waiting_files.h"
#include "vfs/types.h"

namespace braid::pnfs_mds::layouts {

class Layouts;

// CB_LAYOUTRECALL for one layout.
struct FileRecall {
  nfs4::state::ClientRef client;
  nfs4::state::StateIdOther layout{};
  vfs::FileHandle file;
  // The epoch of the file is raised when the layout has ended, so that its handles are worth nothing.
  bool epoch_ends = false;
  unsigned attempts = 0;
};
// For all of a client's in one file system, or everywhere.
struct BulkRecall {
  nfs4::state::ClientRef client;
  nfs4::layoutreturn_type4 type = nfs4::layoutreturn_type4::LAYOUTRETURN4_FSID;  // or ALL
  nfs4::fsid4 fsid;
  unsigned attempts = 0;
};

// Thread-safe from start() to stop(); before and after that nobody is called or shut out.
class Recalls final : public LayoutRecall {
 public:
  // How long who wants to truncate waits for others. Then the client is told to come again.
  static constexpr base::Duration patience = std::chrono::seconds(5);

  Recalls(Layouts& layouts, Cluster& cluster) : layouts_(layouts), cluster_(cluster) {}

  // Work in the background belongs to `home`, one of the threads that may call data servers. `state` outlives
  // drained(). Before there are calls.
  void start(const nfs4::ServerState& state, io::Reactor& home);
  // Wakes all who wait. Any thread.
  void stop();
  // On `home`, after stop(): nothing is under way on return.
  io::Op<> drained();

  // The time now, of a request that came at `arrived` and may have waited. Any thread.
  [[nodiscard]] base::TimePoint time_of(base::TimePoint arrived) const;

  vfs::VfsOp<Pause> others(vfs::FileHandle file, vfs::LeaseHolder except) override;
  [[nodiscard]] bool holds(const vfs::FileHandle& file, vfs::LeaseHolder who) const override;
  [[nodiscard]] std::optional<pnfs::KeptHandles> handles(const vfs::FileHandle& file,
                                                         vfs::LeaseHolder who) const override;

  // --- Of a DeferredWork, without the lock.
  void recall(FileRecall recall);
  void recall(BulkRecall recall);
  // Layouts::bar_ended() when it is in force.
  void put(std::shared_ptr<const Bar> bar);

  // Whatever may have been granted by a run before is refused by every server that serves anybody, then
  // Layouts::earlier_ended(). After the grace period; when it fails, to be called again.
  void end_earlier();

 private:
  using Again = nfs4::callback::Callbacks::Again;
  template <class Recall>
  void repeat(Recall recall);
  io::Op<Again> attempt(std::shared_ptr<FileRecall> recall);
  io::Op<Again> attempt(std::shared_ptr<BulkRecall> recall);
  template <class F>
  void in_background(F make);
  io::Op<> enforce(std::shared_ptr<const Bar> bar);
  vfs::VfsOp<> shut_out(pnfs::ServerNumber server, ClientFence fence);
  // For so long, or until stop().
  io::Op<> rest(base::Duration time);
  io::Op<> fence_earlier();
  vfs::VfsOp<> fence_earlier(pnfs::ServerNumber server, pnfs::GrantNumber lowest);
  // Whether one of them had let its lease run out, and is gone now.
  io::Op<bool> evict_silent(std::vector<nfs4::state::ClientRef> blockers);
  [[nodiscard]] Pause pause(const vfs::FileHandle& file);

  Layouts& layouts_;
  Cluster& cluster_;
  const nfs4::ServerState* state_ = nullptr;  // from start() on
  std::atomic<bool> stopped_{true};
  base::Guarded<io::Reactor*> home_{std::in_place, nullptr};
  base::Guarded<std::vector<std::weak_ptr<Waiter>>> resting_;
  // Of `home`.
  io::Gate gate_;
  bool fencing_earlier_ = false;
};

}  // namespace braid::pnfs_mds::layouts
