// What the kinds of state keep of a file and of a client.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nfs4/state/clients/client.h"
#include "nfs4/state/locks/lock_queue.h"
#include "nfs4/state/state_table.h"
#include "vfs/types.h"

namespace braid::nfs4::state {

struct DelegationState;
struct LockOwner;
struct LockState;
struct OpenOwner;
struct OpenState;

// A file that somebody has state on.
struct FileState {
  vfs::FileHandle handle;
  std::vector<OpenState*> opens;  // closed ones are not in it
  std::vector<LockState*> locks;
  std::vector<DelegationState*> delegations;  // revoked ones are not in it
  std::vector<State*> others;                 // of kinds that have been added
  LockQueue queue;
  bool queued = false;  // Locks looks after the queue

  [[nodiscard]] bool unused() const {
    return opens.empty() && locks.empty() && delegations.empty() && others.empty() && !queued;
  }
};

// How many states there are of each kind, revoked ones too. A lock is a pair of a lock owner and a file.
class StateCounts {
 public:
  [[nodiscard]] std::uint32_t of(StateKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
  std::uint32_t& of(StateKind kind) { return counts_[static_cast<std::size_t>(kind)]; }

 private:
  std::array<std::uint32_t, state_kinds> counts_{};
};

// A client's states and owners. Names are chosen by the client, hence ordered maps: no hash to attack.
struct ClientStates {
  explicit ClientStates(ClientRef whose);
  ~ClientStates();
  ClientStates(const ClientStates&) = delete;
  ClientStates& operator=(const ClientStates&) = delete;

  const ClientRef client;
  std::map<std::string, std::unique_ptr<OpenOwner>, std::less<>> open_owners;
  std::map<std::string, std::unique_ptr<LockOwner>, std::less<>> lock_owners;
  State* states = nullptr;  // doubly linked
  std::uint32_t count = 0;  // of states
  StateCounts counts;
  std::uint32_t delegations = 0;         // without revoked ones
  std::uint32_t recallable_revoked = 0;  // what SEQ4_STATUS_RECALLABLE_STATE_REVOKED is about, not yet freed
  std::uint32_t admin_revoked = 0;       // the same for SEQ4_STATUS_ADMIN_STATE_REVOKED
  std::size_t lock_ranges = 0;
};

}  // namespace braid::nfs4::state
