// What the kinds of state keep of a file and of a client.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "nfs4/state/clients/client.h"
#include "nfs4/state/few_list.h"
#include "nfs4/state/locks/lock_queue.h"
#include "nfs4/state/opens/opens_of_file.h"
#include "nfs4/state/state_table.h"
#include "vfs/lock_table.h"
#include "vfs/types.h"

namespace braid::nfs4::state {

struct DelegationState;
struct LockOwner;
struct LockState;
struct OpenOwner;
struct OpenState;

// The locks on a file, and who waits for them.
struct FileLocks {
  std::map<vfs::LockOwnerId, LockState*> locks;
  vfs::LockTable ranges;  // that they lock
  // Granted, and not yet in `ranges`: one for an owner that has very many there. As if it were.
  std::vector<vfs::LockTable::Entry> claims;
  LockQueue queue;
  std::uint64_t queue_number = 0;  // of those that there have been; 0: nobody ever waited
  std::optional<base::TimePoint>
      due;  // when Locks looks after the queue; nothing: it is empty, and has been seen so

  [[nodiscard]] bool unused() const { return locks.empty() && !due; }
};

// A file that somebody has state on.
struct FileState {
  vfs::FileHandle handle;
  OpensOfFile opens;                     // without closed ones
  FewList<DelegationState> delegations;  // revoked ones are not in it; in no order
  FewList<State> others;                 // of kinds that have been added, by the numbers of their clients

  // Of locks. Most files have none.
  [[nodiscard]] const FileLocks& locking() const;
  [[nodiscard]] FileLocks& locking();

  [[nodiscard]] bool unused() const {
    return opens.empty() && delegations.empty() && others.empty() &&
           (locking_ == nullptr || locking_->unused());
  }

 private:
  std::unique_ptr<FileLocks> locking_;  // null: nobody has ever locked it
};

// How many states there are of each kind, revoked ones too. A lock is a pair of a lock owner and a file.
class StateCounts {
 public:
  [[nodiscard]] std::uint32_t of(StateKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
  std::uint32_t& of(StateKind kind) { return counts_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] std::uint32_t all() const {
    std::uint32_t sum = 0;
    for (const std::uint32_t count : counts_) sum += count;
    return sum;
  }

 private:
  std::array<std::uint32_t, state_kinds> counts_{};
};

// States of a client, one list for each kind: the newest first.
using StateLists = std::array<State*, state_kinds>;

// What the clients of one address have, of one /64 network for IPv6.
struct PeerStates {
  std::size_t clients = 0;
  std::size_t states = 0;
  std::size_t owners = 0;  // of opens and of locks
  std::size_t lock_ranges = 0;
  std::size_t delegations = 0;  // without revoked ones
};

// A client's states and owners. Names are chosen by the client, hence ordered maps: no hash to attack.
struct ClientStates {
  // `of` outlives this.
  ClientStates(ClientRef whose, PeerStates& of);
  ~ClientStates();
  ClientStates(const ClientStates&) = delete;
  ClientStates& operator=(const ClientStates&) = delete;

  const ClientRef client;
  PeerStates& peer;
  std::map<std::string, std::unique_ptr<OpenOwner>, std::less<>> open_owners;
  std::map<std::string, std::unique_ptr<LockOwner>, std::less<>> lock_owners;
  StateLists states{};
  StateLists doomed{};      // those that are being taken back, a portion at a time
  std::uint32_t count = 0;  // of states
  StateCounts counts;
  std::uint32_t delegations = 0;         // without revoked ones
  std::uint32_t recallable_revoked = 0;  // what SEQ4_STATUS_RECALLABLE_STATE_REVOKED is about, not yet freed
  std::uint32_t admin_revoked = 0;       // the same for SEQ4_STATUS_ADMIN_STATE_REVOKED
  std::size_t lock_ranges = 0;
};

}  // namespace braid::nfs4::state
