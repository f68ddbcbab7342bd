// Opens, byte-range locks and delegations of all clients on all files: who may do what, and who is in the
// way.
//
// One instance behind base::Guarded. Synchronous, without I/O and without a clock. What has to be done
// outside the lock (closing files, callbacks, telling the file system) comes back in an Aftermath.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/state/aftermath.h"
#include "nfs4/state/contention.h"
#include "nfs4/state/file_state.h"
#include "nfs4/state/io_grant.h"

namespace braid::nfs4::state {

struct StateLimits {
  std::uint32_t states_max = 4U << 20;         // of all clients together
  std::uint32_t states_per_client = 1U << 20;  // opens, locks and delegations
  std::uint32_t owners_max = 1U << 20;         // open and lock owners of all clients together
  std::uint32_t owners_per_client = 1U << 16;  // open owners, and as many lock owners
  std::uint32_t lock_ranges_per_client = 1U << 18;
  std::uint32_t delegations_max = 1U << 14;  // of all clients together; each keeps two descriptors
  std::uint32_t delegations_per_client = 1U << 13;
  // How long who waits for a lock keeps its place without asking again. Linux asks after 30 s at the latest.
  base::Duration lock_patience = std::chrono::seconds(35);
  // How long others are refused for the sake of one whose turn has come, and who may have given up.
  base::Duration lock_turn = std::chrono::seconds(1);
  // How long a file gets no delegation after one had to be recalled.
  base::Duration contention = std::chrono::seconds(30);
};

// Why something was refused. `blockers`: the clients whose state is in the way; if one of them has let its
// lease run out, it can be removed and the operation tried again.
struct Refusal {
  nfsstat4 status = nfsstat4::NFS4ERR_SERVERFAULT;
  std::vector<ClientRef> blockers;
};

// How an operation refers to state: the stateid it brought, the file it is about, and who it is from.
struct StateUse {
  stateid4 id;
  std::uint32_t minor_version = 0;
  ClientRef client;  // of the session; null in 4.0, where any request may bring any stateid
  const vfs::FileHandle& file;
  base::TimePoint now{};
  Opener caller{};  // for authorize() and check_timestamps()
};

enum class DelegationWish : std::uint8_t {
  none,  // the client wants none, or cannot be called back
  read,
  write,
  any,
};

struct OpenRequest {
  ClientRef client;
  std::uint32_t minor_version = 0;
  std::string_view owner;
  vfs::FileHandle file;
  Share share;
  Opener opener;
  vfs::OpenFileRef descriptor;
  DelegationWish wish = DelegationWish::none;
  bool reclaim = false;
  bool also_writes = false;  // the OPEN itself changes the file, whatever the owner may do later
  base::TimePoint now{};
};

struct OpenAnswer {
  stateid4 id;
  bool fresh = false;    // the owner had not opened the file
  bool confirm = false;  // OPEN_CONFIRM has to follow
  // What may be granted by delegate(): the wish's answer, decided by what others have open; with the
  // descriptor that the delegation is to work with. Without one, `no_delegation` says why.
  std::optional<open_delegation_type4> delegation;
  why_no_delegation4 no_delegation = why_no_delegation4::WND4_NOT_WANTED;
  vfs::OpenFileRef descriptor;
  // For undo_open().
  Share former;
  ShareHistory former_history;
  std::uint32_t former_seqid = 0;
};

// A delegation that the file system has agreed to.
struct DelegationRequest {
  open_delegation_type4 type = open_delegation_type4::OPEN_DELEGATE_READ;  // or WRITE
  vfs::LeaseRef lease;                                                     // null only for reclaimed ones
  bool reclaim = false;      // held before the restart: whoever wants the file now comes later
  bool recalled = false;     // the client is told at once to return it
  bool timestamps = false;   // the client keeps the file's times (RFC 9754 5)
  std::uint64_t change = 0;  // of the file, as it is given
  base::TimePoint now{};
};

// Of a directory that the file system has agreed to watch.
struct DirectoryDelegationRequest {
  ClientRef client;
  vfs::FileHandle directory;
  vfs::LeaseRef lease;
  base::TimePoint now{};
};

// Whom to ask about a file that he may have changed without telling.
struct WriteHolder {
  ClientRef client;
  stateid4 id;
  bool timestamps = false;
  bool recalled = false;
  std::uint64_t change = 0;  // of the file, as the delegation was given
};

// A client that has more delegations than we like, and how many it may keep.
struct Surplus {
  ClientRef client;
  std::uint32_t keep = 0;
};

struct DelegationStats {
  std::uint32_t reading = 0;  // held now
  std::uint32_t writing = 0;
  std::uint32_t directories = 0;
  std::uint64_t granted = 0;
  std::uint64_t recalled = 0;
  std::uint64_t revoked = 0;

  [[nodiscard]] std::uint32_t held() const { return reading + writing + directories; }
};

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
  // For undo_lock(): what was held in that range before.
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

// A 4.0 owner, by name: owners come and go while operations wait.
struct OwnerKey {
  clientid4 client = 0;
  StateKind kind = StateKind::open;  // or lock
  std::string name;
  friend auto operator<=>(const OwnerKey&, const OwnerKey&) = default;
};

// An operation that waits for another one of its owner to end; in a list, in the order of their coming. Its
// owner knows how to go on: begin again.
struct TurnWaiter {
  TurnWaiter* next = nullptr;
};

// How a 4.0 operation that carries a seqid goes on.
struct OwnerTurn {
  enum class How : std::uint8_t {
    run,     // execute it, then end_turn(owner)
    replay,  // answer `status` and `reply`
    refuse,  // answer `status`
    wait,    // another one of the owner runs: its end_turn() hands the waiter out
  } how = How::refuse;
  nfsstat4 status = nfsstat4::NFS4ERR_BAD_SEQID;
  base::Bytes reply;
  OwnerKey owner;
};

// A line of `braid opens`, `braid locks` and `braid delegations`.
struct StateLine {
  static constexpr std::size_t ranges_max = 16;
  clientid4 client = 0;
  std::string peer;  // its address and port
  std::uint32_t minor_version = 0;
  StateKind kind = StateKind::open;
  stateid4 id;
  base::TimePoint made{};
  std::string owner;
  vfs::FileHandle file;
  Share share;                    // of opens
  std::vector<HeldRange> ranges;  // of locks; the first ones
  std::size_t range_count = 0;
  bool write = false;      // of delegations
  bool directory = false;  // the same
  bool recalled = false;   // the same
  vfs::OpenFileRef open;   // of the file, if there is one
  vfs::FileRef watched;    // the directory of a delegation
};

// A part of all states, so that nobody waits long for the lock.
struct StateQuery {
  std::optional<StateKind> kind;    // none: every kind
  std::optional<clientid4> client;  // none: of all clients
  std::uint32_t from = 0;           // StatePage::next of the page before
  std::size_t lines_max = 256;
};
struct StatePage {
  std::vector<StateLine> lines;
  std::optional<std::uint32_t> next;  // none: that was all
};

class FileStates {
 public:
  FileStates(std::uint32_t epoch, const StateLimits& limits);
  ~FileStates();

  // --- OPEN and its kin.

  // Notes an open that the file system has allowed. SHARE_DENIED; DELAY: a delegation is being recalled;
  // EXPIRED; RESOURCE (DELAY in 4.1): a limit is reached.
  base::Result<OpenAnswer, Refusal> open(OpenRequest request, Aftermath& after);
  // The OPEN failed after all.
  void undo_open(const OpenAnswer& answer, Aftermath& after);
  base::Result<stateid4, nfsstat4> confirm(const StateUse& use);
  // INVAL unless the owner has asked for just that before.
  base::Result<stateid4, nfsstat4> downgrade(const StateUse& use, const Share& share, Aftermath& after);
  // Its locks end with it.
  base::Result<stateid4, nfsstat4> close(const StateUse& use, Aftermath& after);
  // Whether the open would conflict with others now (SHARE_DENIED) or with delegations (DELAY). An owner's
  // own opens are others, too, unless it reclaims.
  base::Result<void, Refusal> admit_open(const OpenRequest& request, Aftermath& after);

  // Whether the limits leave room for one more open of this owner: asked before a file is made for it, since
  // what was made is not unmade. RESOURCE (DELAY in 4.1).
  [[nodiscard]] base::Result<void, nfsstat4> admit_one_more(const Client& client,
                                                            std::string_view owner) const;

  // Whether the client has more files open than it could if all had as many, one more client among them.
  [[nodiscard]] bool opens_much(clientid4 client) const;

  // --- Byte-range locks.

  base::Result<LockAnswer, LockRefusal> lock(const LockRequest& request, Aftermath& after);
  // The file system refused. `for_local`: who asked will wait for somebody local, and is among local_waits()
  // from now on.
  void undo_lock(const LockAnswer& answer, const LockRequest& request, bool for_local, Aftermath& after);
  // At most local_waits_max of them; the others ask again by themselves.
  [[nodiscard]] std::vector<LocalWait> local_waits() const;
  // The file system would grant it now.
  void local_gone(const LocalWait& wait, Aftermath& after);
  // How often somebody was to be told that it is its turn.
  [[nodiscard]] std::uint64_t lock_turns() const { return lock_turns_; }
  // RESOURCE (DELAY in 4.1): this would leave two ranges of one, and the client has as many as it may.
  base::Result<stateid4, nfsstat4> unlock(const StateUse& use, const ByteRange& range, Aftermath& after);
  // LOCKT: who would be in the way, if only because it is his turn.
  [[nodiscard]] std::optional<LockHolder> test_lock(clientid4 client, std::string_view owner,
                                                    const vfs::FileHandle& file,
                                                    const HeldRange& wanted) const;
  // What the file system knows this owner by; nothing if it never locked.
  [[nodiscard]] std::optional<vfs::LockOwnerId> lock_owner_id(clientid4 client, std::string_view owner) const;
  // LOCKS_HELD
  base::Result<void, nfsstat4> release_lock_owner(clientid4 client, std::string_view owner, Aftermath& after);

  // --- Delegations.

  // After open() said that one may be granted, and the file system agreed. Nothing if that has changed; the
  // lease is then still the caller's.
  std::optional<stateid4> delegate(const OpenAnswer& open, DelegationRequest& request);
  // Whether the client may have one of this directory now: the limits allow it, it has none, and none was
  // recalled a moment ago.
  [[nodiscard]] bool admits_directory(const Client& client, const vfs::FileHandle& directory,
                                      base::TimePoint now) const;
  // Nothing if that has changed; the lease is then still the caller's.
  std::optional<stateid4> delegate(DirectoryDelegationRequest& request);
  // Whether break_delegations() would mind.
  [[nodiscard]] bool delegated_to_others(const vfs::FileHandle& file, const Client* by) const;
  base::Result<void, nfsstat4> return_delegation(const StateUse& use, Aftermath& after);
  // Before the file's attributes or names are changed, or (`write` false) looked at in a way that a write
  // delegation hides: DELAY while delegations of others are recalled.
  base::Result<void, Refusal> break_delegations(const vfs::FileHandle& file, const Client* by, bool write,
                                                base::TimePoint now, Aftermath& after);
  // Somebody waits for the file system's leases on this file.
  void recall_all(const vfs::FileHandle& file, base::TimePoint now, Aftermath& after);
  // The client wants to write a file that it has a delegation to read of: the delegation is recalled, and the
  // file system's lease ends at once, since it would keep the client itself out.
  void give_up_own(const vfs::FileHandle& file, const Client& client, base::TimePoint now, Aftermath& after);
  // Somebody else than `by` with a write delegation; `by` null: anybody.
  [[nodiscard]] std::optional<WriteHolder> write_holder(const vfs::FileHandle& file, const Client* by) const;
  // Before the end of everything: when `after` is gone, the file system tells nobody any more.
  void end_leases(Aftermath& after);
  // Whom to ask for delegations when they run short (CB_RECALL_ANY); asks for nobody twice within a while.
  std::vector<Surplus> surplus(base::TimePoint now);
  [[nodiscard]] const DelegationStats& delegation_stats() const { return delegation_stats_; }
  // There are delegations, and nobody minds.
  [[nodiscard]] bool delegations_at_rest() const;
  // Those recalled before `before` are taken back by force. Their clients learn it from SEQUENCE and keep a
  // revoked stateid to free (4.1), or find theirs to be bad (4.0).
  std::size_t revoke_unreturned(base::TimePoint before, Aftermath& after);
  // The descriptor of the client's own delegation of this file, if it has one: the file system takes a new
  // open for somebody else's.
  [[nodiscard]] vfs::OpenFileRef delegated(const Client& client, const vfs::FileHandle& file,
                                           std::uint8_t access) const;
  // Whether `id` is the client's delegation of the file (CLAIM_DELEGATE_CUR).
  base::Result<void, nfsstat4> check_delegation(const StateUse& use) const;
  // RFC 9754 5: INVAL: its holder keeps no times; OPENMODE: only to read, while the mtime takes share_write.
  base::Result<IoGrant, nfsstat4> check_timestamps(const StateUse& use, std::uint8_t access) const;

  // --- READ, WRITE, and others that bring a stateid.

  // `access`: share_read or share_write. OPENMODE; LOCKED: a special stateid, and somebody denies this;
  // DELAY: a delegation is in the way.
  base::Result<IoGrant, Refusal> authorize(const StateUse& use, std::uint8_t access, Aftermath& after);
  // TEST_STATEID
  [[nodiscard]] nfsstat4 test(const stateid4& id, const Client& client) const;
  // FREE_STATEID: LOCKS_HELD for what is in use.
  base::Result<void, nfsstat4> free(const stateid4& id, const Client& client, Aftermath& after);

  // --- Sequence ids of 4.0 owners (RFC 7530 9.1.7). Every turn that says `run` is ended.

  // Without a `waiter` nobody waits: RESOURCE, as if too many did.
  OwnerTurn begin_open(const ClientRef& client, std::string_view owner, std::uint32_t seqid,
                       base::TimePoint now, Aftermath& after, TurnWaiter* waiter = nullptr);
  // For operations that name the owner by a stateid of this kind.
  OwnerTurn begin(const stateid4& id, StateKind kind, std::uint32_t seqid, nfs_opnum4 op, base::TimePoint now,
                  Aftermath& after, TurnWaiter* waiter = nullptr);
  // Returns who waited for it, to be woken.
  [[nodiscard]] TurnWaiter* end_turn(const OwnerKey& owner, nfsstat4 status, base::Bytes reply);

  // --- Clients.

  // All state of this client, which is gone, ends. Its stateids are answered EXPIRED from now on (4.0). What
  // is left to be done is kept until somebody takes it.
  void drop_client(clientid4 client);
  [[nodiscard]] Aftermath take_left() { return std::exchange(left_, {}); }
  // By an administrator: what this client with sessions holds is taken back, and its stateids stay to be
  // freed (RFC 8881 18.46.3, SEQ4_STATUS_ADMIN_STATE_REVOKED). What is left to be done is kept as above.
  void revoke_client(clientid4 client);
  // RFC 8881 18.50.3: CLIENTID_BUSY
  [[nodiscard]] bool holds_state(clientid4 client) const;
  // Whether this state is still there, whatever its seqid.
  [[nodiscard]] bool has(const stateid4& id) const;
  // Forgets 4.0 owners without state that were not used since `before`, and waiters who gave up.
  void sweep(base::TimePoint before, base::TimePoint now, Aftermath& after);

  [[nodiscard]] std::size_t size() const { return table_.size(); }
  [[nodiscard]] StatePage list(const StateQuery& query) const;
  [[nodiscard]] StateCounts count() const;
  [[nodiscard]] StateCounts count(clientid4 client) const;
  [[nodiscard]] const StateLimits& limits() const { return limits_; }

 private:
  // Looking at every 4.0 owner takes time that others wait for.
  static constexpr base::Duration sweep_pause = std::chrono::seconds(10);
  static constexpr std::size_t local_waits_max = 1024;
  // Per owner: each holds a connection's request.
  static constexpr std::uint32_t turn_waiters_max = 4;
  // A client needs time to return what it was asked for.
  static constexpr base::Duration surplus_pause = std::chrono::seconds(10);

  struct HandleHash {
    std::size_t operator()(const vfs::FileHandle& handle) const {
      return std::hash<std::string_view>{}(base::text_of(handle.view()));
    }
  };

  // records.cc: making and ending what there is.
  ClientStates& states_of(const ClientRef& client);
  [[nodiscard]] ClientStates* find_client(clientid4 client) const;
  FileState& file_of(const vfs::FileHandle& handle);
  [[nodiscard]] FileState* find_file(const vfs::FileHandle& handle) const;
  // Null when a limit is reached.
  template <class T, class... Args>
  T* make(ClientStates& states, Args&&... args);
  void erase(State& state, Aftermath& after);
  void detach(OpenState& open, Aftermath& after);
  void end(OpenState& open, Aftermath& after);
  void detach(LockState& lock, Aftermath& after);
  void end(LockState& lock, Aftermath& after);
  void detach(DelegationState& delegation, Aftermath& after);
  void end(DelegationState& delegation, Aftermath& after);
  void drop_closed(OpenOwner& owner, Aftermath& after);
  template <class F>
  void tidy_queues(F&& f, Aftermath& after);
  void forget_if_unused(const vfs::FileHandle& handle);
  void forget_if_unused(clientid4 client);

  // access.cc: what a stateid allows.
  [[nodiscard]] base::Result<State*, nfsstat4> find(const StateUse& use) const;
  [[nodiscard]] base::Result<OpenState*, nfsstat4> find_open(const StateUse& use) const;
  [[nodiscard]] base::Result<LockState*, nfsstat4> find_lock(const StateUse& use) const;
  [[nodiscard]] base::Result<DelegationState*, nfsstat4> find_delegation(const StateUse& use) const;
  base::Result<IoGrant, Refusal> authorize_without_state(const StateUse& use, std::uint8_t access,
                                                         SpecialStateId special, Aftermath& after);

  // opens.cc
  OpenOwner* open_owner_for(ClientStates& states, std::string_view name, base::TimePoint now);
  OpenState* open_state_for(ClientStates& states, FileState& file, OpenOwner& owner, bool& fresh);

  // turns.cc
  void forget_if_unused(const OwnerKey& key);
  OwnerTurn turn_of(OwnerSequence& sequence, OwnerKey key, std::uint32_t seqid, nfs_opnum4 op,
                    TurnWaiter* waiter);

  // revocation.cc
  void revoke(OpenState& open, Aftermath& after);
  void revoke(LockState& lock, Aftermath& after);
  void freed_revoked(State& state);

  // locks.cc
  base::Result<LockState*, nfsstat4> lock_state_for(const LockRequest& request, bool& fresh);
  base::Result<LockOwner*, nfsstat4> lock_owner_for(ClientStates& states, const LockRequest& request);
  void wait_for(LockState& lock, const LockRequest& request, LockWaiter::Hope hope);
  LockAnswer take(LockState& lock, const LockRequest& request, bool fresh);
  // Those that wait for bytes of `freed`: for a file with many locks it takes long to look who is held up.
  void tell_waiters(FileState& file, const ByteRange& freed, Aftermath& after);

  // delegations.cc
  // True if a delegation is in the way; its recall has begun then.
  bool recall_conflicting(FileState& file, const Client* by, bool write, base::TimePoint now,
                          std::vector<ClientRef>& blockers, Aftermath& after);
  void recall(DelegationState& delegation, base::TimePoint now, Aftermath& after);
  // The server and the client may have one more.
  [[nodiscard]] bool delegations_left(const Client& client) const;
  // The count of those of its kind.
  std::uint32_t& held_like(const DelegationState& delegation);
  void note_granted(DelegationState& delegation, FileState& file);
  void note_recall(DelegationState& delegation, base::TimePoint now);
  void revoke(DelegationState& delegation, Aftermath& after);
  [[nodiscard]] base::Result<open_delegation_type4, why_no_delegation4> offer(const OpenState& open,
                                                                              DelegationWish wish,
                                                                              base::TimePoint now) const;
  [[nodiscard]] base::Result<void, why_no_delegation4> admit_delegation(const OpenState& open,
                                                                        bool writes) const;

  const StateLimits limits_;
  StateIdTable table_;
  std::unordered_map<vfs::FileHandle, std::unique_ptr<FileState>, HandleHash> files_;
  std::size_t owners_ = 0;  // they count themselves
  std::unordered_map<clientid4, std::unique_ptr<ClientStates>> clients_;
  std::unordered_set<FileState*> queued_;   // files that somebody waits for locks of
  std::vector<DelegationState*> recalled_;  // in the order of their recall
  Contention contention_;
  DelegationStats delegation_stats_;
  base::TimePoint next_surplus_{};
  std::uint64_t lock_owners_made_ = 0;
  std::uint64_t lock_turns_ = 0;
  StateCounts counts_;
  struct Waiting {
    TurnWaiter* first = nullptr;
    TurnWaiter* last = nullptr;
    std::uint32_t count = 0;
  };
  std::map<OwnerKey, Waiting> waiting_;  // for turns of owners that are busy
  Aftermath left_;
  base::TimePoint next_sweep_{};
};

}  // namespace braid::nfs4::state
