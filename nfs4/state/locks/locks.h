// Byte-range locks of all clients on all files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
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
  // Its owner has very many ranges there: nobody else gets any of it, but it is for take_some() to note it.
  bool claimed = false;
  // For undo(): what was held in that range before, if this has changed it.
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
//
// Who waits is looked at when bytes are freed that it waits for, or when a turn ends that keeps it from them.
class Locks final : public Kind {
 public:
  // So many states end in one call, and so many ranges of one state are unlocked or replaced; more in
  // several.
  static constexpr std::size_t states_at_once = 256;
  static constexpr std::size_t ranges_at_once = 128;
  // So many claims a file has.
  static constexpr std::size_t claims_max = 8;

  explicit Locks(StateRegistry& registry);

  // DENIED; RESOURCE (DELAY in 4.1): the client, its address, or the file, has as many ranges as it may;
  // DELAY: the owner, or the file, has a claim already. What is claimed is to be ended by take_some() or
  // undo().
  base::Result<LockAnswer, LockRefusal> lock(const LockRequest& request, DeferredWork& work);
  // After lock() has claimed this, and the file system has agreed. Nothing: it is to be called again; the
  // stateid is the same until the last call. BAD_STATEID: the lock's state is gone, or its client.
  base::Result<std::optional<stateid4>, nfsstat4> take_some(const LockAnswer& answer, const HeldRange& wanted,
                                                            DeferredWork& work);
  // The file system refused. `for_local`: who asked will wait for somebody local, and is among local_waits()
  // from now on.
  void undo(const LockAnswer& answer, const LockRequest& request, bool for_local, DeferredWork& work);
  // At most local_waits_max of them; the others ask again by themselves.
  [[nodiscard]] std::vector<LocalWait> local_waits() const;
  // The file system would grant it now.
  void local_gone(const LocalWait& wait, DeferredWork& work);
  // How often somebody was to be told that it is its turn.
  [[nodiscard]] std::uint64_t turns_given() const { return turns_given_; }
  // How many locks were refused because a file, a client or its address has as many ranges as it may.
  [[nodiscard]] std::uint64_t refused_full() const { return refused_full_; }
  // Nothing: it has begun, `range` is what is left to be unlocked, and it is to be called again; the stateid
  // is the same until the last call. RESOURCE (DELAY in 4.1): this would leave two ranges of one, and there
  // are as many as there may be. DELAY: a lock of this owner is being noted.
  base::Result<std::optional<stateid4>, nfsstat4> unlock(const StateUse& use, ByteRange& range,
                                                         DeferredWork& work);
  // LOCKT: who would be in the way, if only because it is his turn.
  [[nodiscard]] std::optional<LockHolder> test(clientid4 client, std::string_view owner,
                                               const vfs::FileHandle& file, const HeldRange& wanted) const;
  // What the file system knows this owner by; nothing if it never locked.
  [[nodiscard]] std::optional<vfs::LockOwnerId> owner_id(clientid4 client, std::string_view owner) const;
  // LOCKS_HELD. True: it has begun, and is to be called again.
  base::Result<bool, nfsstat4> release_owner(clientid4 client, std::string_view owner, DeferredWork& work);
  // Whether a 4.0 owner without locks, that was not used since `before`, is to be forgotten.
  [[nodiscard]] static bool unused(const LockOwner& owner, base::TimePoint before) {
    return !owner.sequence.busy() && owner.used <= before && owner.locks.empty();
  }
  // Before the open that `open` names is closed: if it has many locks, or ranges, some of them end. True:
  // call it again. Errors as of a CLOSE.
  base::Result<bool, nfsstat4> end_some(const StateUse& open, DeferredWork& work);

  // What f() frees is told to nobody before tell_some().
  template <class F>
  void quietly(F&& f) {
    ++quiet_;
    std::forward<F>(f)();
    --quiet_;
  }
  // Tells who waits for what was freed quietly. True: there is more.
  bool tell_some(DeferredWork& work);
  // Ends turns and places whose time is over. True: there is more.
  bool tidy(base::TimePoint now, DeferredWork& work);

  bool lessen(State& state, DeferredWork& work) override;
  void end(State& state, DeferredWork& work) override;
  void revoke(State& state, DeferredWork& work) override;
  // RFC 8881 18.38.3: only locks that lock nothing are freed without having been revoked.
  [[nodiscard]] bool freeable(const State& state) const override {
    return static_cast<const LockState&>(state).ranges == 0;
  }
  [[nodiscard]] bool describe(const State& state, StateLine& line) const override;
  void open_ends(OpenState& open, DeferredWork& work) override;
  void client_leaves(clientid4 client, DeferredWork& work) override;

 private:
  static constexpr std::size_t local_waits_max = 1024;
  using Files = std::map<std::uint64_t, FileState*>;  // by FileState::queue_number

  // The places of a client.
  struct Waits {
    Files files;
    std::size_t places = 0;
    rpc::PeerKey peer{};
  };
  struct Freed {
    FileState* file = nullptr;  // somebody waits for it, so it is not forgotten
    ByteRange range;
  };

  [[nodiscard]] StepCounter& steps() const { return registry_.steps(); }
  base::Result<LockState*, nfsstat4> state_for(const LockRequest& request, bool& fresh);
  base::Result<LockOwner*, nfsstat4> owner_for(ClientStates& states, const LockRequest& request);
  [[nodiscard]] bool room_for_ranges(const ClientStates& states, const FileState& file, std::size_t more);
  LockAnswer take(LockState& lock, const LockRequest& request, bool fresh, DeferredWork& work);
  // The same in portions.
  LockAnswer claim(LockState& lock, const LockRequest& request, DeferredWork& work);
  // True: this is LockAnswer::first.
  bool note_granted(LockState& lock, const LockRequest& request, DeferredWork& work);
  // After a change of what it locks.
  void recount(LockState& lock);
  [[nodiscard]] std::size_t ranges_of(const OpenState& open) const;
  // The state that lock() has answered with, if it is still in use.
  [[nodiscard]] LockState* locked(const LockAnswer& answer) const;
  // A LOCK of this owner, noted in portions.
  [[nodiscard]] static bool has_claim(const LockState& lock);
  static void drop_claim(LockState& lock);
  // As much of a range as may be unlocked, or replaced, in one call.
  [[nodiscard]] ByteRange portion_of(const LockState& lock, const ByteRange& range) const;
  void release(LockState& lock, const ByteRange& range, DeferredWork& work);
  // Takes the locks off their file, their owner and their open.
  void detach(LockState& lock, DeferredWork& work);
  // The same of one that was revoked, and waits to be freed.
  void detach_revoked(LockState& lock, DeferredWork& work);
  // Its open ends.
  void end_of_open(LockState& lock, DeferredWork& work);

  // Who is in the way (lock_turns.cc).
  [[nodiscard]] std::optional<LockHolder> holder_in_the_way(const FileState& file, clientid4 client,
                                                            std::string_view owner,
                                                            const HeldRange& wanted) const;
  [[nodiscard]] const vfs::LockTable::Entry* conflict(const FileState& file, vfs::LockOwnerId owner,
                                                      const HeldRange& wanted) const;
  [[nodiscard]] bool is_held(const FileState& file, const LockWaiter& waiter) const;
  [[nodiscard]] const LockWaiter* turn_in_the_way(const FileState& file, clientid4 client,
                                                  std::string_view owner, const HeldRange& wanted) const;
  [[nodiscard]] std::vector<const LockWaiter*> turns_of(const FileState& file) const;
  // Who waits (lock_turns.cc).
  void wait_for(LockState& lock, const LockRequest& request, LockWaiter::Hope hope, DeferredWork& work);
  void end_turns(FileState& file, base::TimePoint now, DeferredWork& work);
  void left(FileState& file, const LockQueue::Left& left, DeferredWork& work);
  void freed(FileState& file, const ByteRange& range, DeferredWork& work);
  void tell_waiters(FileState& file, const ByteRange& freed, DeferredWork& work);
  // After a change of its queue.
  void look_after(FileState& file);

  StateRegistry& registry_;
  std::map<std::pair<base::TimePoint, std::uint64_t>, FileState*> due_;  // by FileState::due, queue_number
  Files local_;  // where somebody waits for somebody local
  std::map<clientid4, Waits> waits_;
  std::size_t places_ = 0;  // of all clients
  std::map<rpc::PeerKey, std::size_t> places_of_peer_;
  std::vector<Freed> freed_;
  unsigned quiet_ = 0;
  std::uint64_t owners_made_ = 0;
  std::uint64_t queues_made_ = 0;
  std::uint64_t turns_given_ = 0;
  std::uint64_t refused_full_ = 0;
};

}  // namespace braid::nfs4::state
