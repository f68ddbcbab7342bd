// Byte-range locks of all clients on all files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/state/deferred_work.h"
#include "nfs4/state/locks/lock_state.h"
#include "nfs4/state/registry.h"

namespace braid::nfs4::state {

struct LockRequest {
  StateUse use;  // an open stateid for a new lock owner, else a lock stateid
  std::optional<std::string_view> new_owner;
  std::uint32_t new_owner_seqid = 0;  // 4.0
  HeldRange wanted;
  bool blocking = false;     // the client will ask again if refused: READW_LT, WRITEW_LT
  bool can_be_told = false;  // by CB_NOTIFY_LOCK, when its turn has come
};

// Who holds a range that was wanted.
struct LockHolder {
  clientid4 client = 0;
  std::string owner;
  HeldRange held;
};

struct LockAnswer {
  stateid4 id;
  vfs::LockOwnerId owner;
  vfs::OpenFileRef open;  // null if the file was opened in no way that the file system can lock
  bool fresh = false;
  bool first = false;  // this began the sequence of a 4.0 lock owner
  // For undo(): what was held in that range before.
  std::vector<HeldRange> former;
  std::uint32_t former_seqid = 0;
};

// An owner that waits for what somebody local holds: nobody tells the server when that ends.
struct LocalWait {
  clientid4 client = 0;
  std::string owner;
  vfs::LockOwnerId id;  // of nobody, if it holds no lock
  vfs::FileHandle file;
  vfs::OpenFileRef open;  // anybody's, of the file
  HeldRange wanted;
};

struct LockRefusal {
  Refusal why;
  std::optional<LockHolder> holder;  // with NFS4ERR_DENIED
};

// LOCK, LOCKT, LOCKU and RELEASE_LOCKOWNER (RFC 8881 18.10 to 18.12; RFC 7530 16.37), and who waits for
// whom. Not thread-safe: behind the lock of States.
class Locks final : public Kind {
 public:
  explicit Locks(StateRegistry& registry);

  base::Result<LockAnswer, LockRefusal> lock(const LockRequest& request, DeferredWork& work);
  // The file system refused. `for_local`: who asked will wait for somebody local, and is among local_waits()
  // from now on.
  void undo(const LockAnswer& answer, const LockRequest& request, bool for_local, DeferredWork& work);
  // At most local_waits_max of them; the others ask again by themselves.
  [[nodiscard]] std::vector<LocalWait> local_waits() const;
  // The file system would grant it now.
  void local_gone(const LocalWait& wait, DeferredWork& work);
  // How often somebody was to be told that it is its turn.
  [[nodiscard]] std::uint64_t turns_given() const { return turns_given_; }
  // RESOURCE (DELAY in 4.1): this would leave two ranges of one, and the client has as many as it may.
  base::Result<stateid4, nfsstat4> unlock(const StateUse& use, const ByteRange& range, DeferredWork& work);
  // LOCKT: who would be in the way, if only because it is his turn.
  [[nodiscard]] std::optional<LockHolder> test(clientid4 client, std::string_view owner,
                                               const vfs::FileHandle& file, const HeldRange& wanted) const;
  // What the file system knows this owner by; nothing if it never locked.
  [[nodiscard]] std::optional<vfs::LockOwnerId> owner_id(clientid4 client, std::string_view owner) const;
  // LOCKS_HELD
  base::Result<void, nfsstat4> release_owner(clientid4 client, std::string_view owner, DeferredWork& work);
  // 4.0 owners without locks that were not used since `before` are forgotten.
  static void sweep(ClientStates& states, base::TimePoint before);

  void end(State& state, DeferredWork& work) override;
  void revoke(State& state, DeferredWork& work) override;
  // RFC 8881 18.38.3: only locks that lock nothing are freed without having been revoked.
  [[nodiscard]] bool freeable(const State& state) const override {
    return static_cast<const LockState&>(state).ranges.empty();
  }
  [[nodiscard]] bool describe(const State& state, StateLine& line) const override;
  void open_ends(OpenState& open, DeferredWork& work) override;
  void client_leaves(clientid4 client, DeferredWork& work) override;
  void tick(base::TimePoint lease_ago, base::TimePoint now, DeferredWork& work) override;

 private:
  static constexpr std::size_t local_waits_max = 1024;

  base::Result<LockState*, nfsstat4> state_for(const LockRequest& request, bool& fresh);
  base::Result<LockOwner*, nfsstat4> owner_for(ClientStates& states, const LockRequest& request);
  void wait_for(LockState& lock, const LockRequest& request, LockWaiter::Hope hope);
  LockAnswer take(LockState& lock, const LockRequest& request, bool fresh);
  // Those that wait for bytes of `freed`: for a file with many locks it takes long to look who is held up.
  void tell_waiters(FileState& file, const ByteRange& freed, DeferredWork& work);
  // Takes the locks off their file, their owner and their open.
  void detach(LockState& lock, DeferredWork& work);
  // f(LockQueue&) of each file that somebody waits for locks of.
  template <class F>
  void tidy_queues(F&& f, DeferredWork& work);

  StateRegistry& registry_;
  // Files that somebody waits for locks of, or did a moment ago. FileState::queued keeps them from being
  // forgotten until tidy_queues() has seen that nobody does.
  std::vector<FileState*> queued_;
  std::uint64_t owners_made_ = 0;
  std::uint64_t turns_given_ = 0;
};

}  // namespace braid::nfs4::state
