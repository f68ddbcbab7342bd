// Delegations of all clients on all files (RFC 8881 10.2 to 10.4, 10.9).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/state/deferred_work.h"
#include "nfs4/state/delegations/contention.h"
#include "nfs4/state/delegations/delegation_state.h"
#include "nfs4/state/io_grant.h"
#include "nfs4/state/opens/opens.h"
#include "nfs4/state/registry.h"

namespace braid::nfs4::state {

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

// Not thread-safe: behind the lock of States.
class Delegations final : public Kind {
 public:
  static constexpr std::size_t revoked_at_once = 256;
  explicit Delegations(StateRegistry& registry);

  // After Opens::open() said that one may be granted, and the file system agreed. Nothing if that has
  // changed; the lease is then still the caller's.
  std::optional<stateid4> give(const OpenAnswer& open, DelegationRequest& request);
  // Whether the client may have one of this directory now: the limits allow it, it has none, and none was
  // recalled a moment ago.
  [[nodiscard]] bool admits_directory(const Client& client, const vfs::FileHandle& directory,
                                      base::TimePoint now) const;
  // Nothing if that has changed; the lease is then still the caller's.
  std::optional<stateid4> give(DirectoryDelegationRequest& request);
  // Whether break_for() would mind.
  [[nodiscard]] bool held_by_others(const vfs::FileHandle& file, const Client* by) const;
  // DELEGRETURN
  base::Result<void, nfsstat4> give_back(const StateUse& use, DeferredWork& work);
  // Before the file's attributes or names are changed, or (`write` false) looked at in a way that a write
  // delegation hides: DELAY while delegations of others are recalled.
  base::Result<void, Refusal> break_for(const vfs::FileHandle& file, const Client* by, bool write,
                                        base::TimePoint now, DeferredWork& work);
  // True if a delegation is in the way; its recall has begun then, and its client is added to `blockers`.
  bool recall_conflicting(FileState& file, const Client* by, bool write, base::TimePoint now,
                          std::vector<ClientRef>& blockers, DeferredWork& work);
  // Somebody waits for the file system's leases on this file.
  void recall_all(const vfs::FileHandle& file, base::TimePoint now, DeferredWork& work);
  // The client wants to write a file that it has a delegation to read of: the delegation is recalled, and the
  // file system's lease ends at once, since it would keep the client itself out.
  void give_up_own(const vfs::FileHandle& file, const Client& client, base::TimePoint now,
                   DeferredWork& work);
  // Somebody else than `by` with a write delegation; `by` null: anybody.
  [[nodiscard]] std::optional<WriteHolder> write_holder(const vfs::FileHandle& file, const Client* by) const;
  // Before the end of everything: when `work` is gone, the file system tells nobody any more.
  void end_leases(DeferredWork& work);
  // Whom to ask for delegations when they run short (CB_RECALL_ANY); asks for nobody twice within a while.
  std::vector<Surplus> surplus(base::TimePoint now);
  [[nodiscard]] const DelegationStats& stats() const { return stats_; }
  // There are delegations, and nobody minds.
  [[nodiscard]] bool at_rest() const;
  // Those recalled before `before` are taken back by force. Their clients learn it from SEQUENCE and keep a
  // revoked stateid to free (4.1), or find theirs to be bad (4.0).
  // At most revoked_at_once of them in a call.
  std::size_t revoke_unreturned(base::TimePoint before, DeferredWork& work);
  // The descriptor of the client's own delegation of this file, if it has one: the file system takes a new
  // open for somebody else's.
  [[nodiscard]] vfs::OpenFileRef descriptor_of(const Client& client, const vfs::FileHandle& file,
                                               std::uint8_t access) const;
  // Whether `use` names the client's delegation of the file (CLAIM_DELEGATE_CUR).
  [[nodiscard]] base::Result<void, nfsstat4> check(const StateUse& use) const;
  // RFC 9754 5: INVAL: its holder keeps no times; OPENMODE: only to read, while the mtime takes share_write.
  [[nodiscard]] base::Result<IoGrant, nfsstat4> check_timestamps(const StateUse& use,
                                                                 std::uint8_t access) const;

  void end(State& state, DeferredWork& work) override;
  void revoke(State& state, DeferredWork& work) override;
  [[nodiscard]] bool freeable(const State& state) const override { return state.revoked; }
  [[nodiscard]] bool describe(const State& state, StateLine& line) const override;
  [[nodiscard]] bool in_the_way(FileState& file, const OpenRequest& request, std::vector<ClientRef>& blockers,
                                DeferredWork& work) override;
  void offer(const OpenState& open, const OpenRequest& request, OpenAnswer& answer) const override;
  void tick(base::TimePoint lease_ago, base::TimePoint now, DeferredWork& work) override;

 private:
  // A client needs time to return what it was asked for.
  static constexpr base::Duration surplus_pause = std::chrono::seconds(10);

  void recall(DelegationState& delegation, base::TimePoint now, DeferredWork& work);
  // The server and the client may have one more.
  [[nodiscard]] bool left_for(const Client& client) const;
  // The count of those of its kind.
  std::uint32_t& held_like(const DelegationState& delegation);
  void note_granted(DelegationState& delegation, FileState& file);
  void note_recall(DelegationState& delegation, base::TimePoint now);
  void detach(DelegationState& delegation, DeferredWork& work);
  [[nodiscard]] base::Result<open_delegation_type4, why_no_delegation4> type_for(const OpenState& open,
                                                                                 DelegationWish wish,
                                                                                 base::TimePoint now) const;
  // What opens and delegations of others allow.
  [[nodiscard]] base::Result<void, why_no_delegation4> admit(const OpenState& open, bool writes) const;

  StateRegistry& registry_;
  std::vector<DelegationState*> recalled_;  // in the order of their recall
  Contention contention_;
  DelegationStats stats_;
  base::TimePoint next_surplus_{};
};

}  // namespace braid::nfs4::state
