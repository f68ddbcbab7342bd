// The sequence ids of 4.0 owners (RFC 7530 9.1.7): each owner's operations run one after the other.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/clock.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/state/deferred_work.h"
#include "nfs4/state/locks/lock_state.h"
#include "nfs4/state/opens/opens.h"
#include "nfs4/state/registry.h"

namespace braid::nfs4::state {

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
    run,     // execute it, then end(owner)
    replay,  // answer `status` and `reply`
    refuse,  // answer `status`
    wait,    // another one of the owner runs: its end() hands the waiter out
  } how = How::refuse;
  nfsstat4 status = nfsstat4::NFS4ERR_BAD_SEQID;
  base::Bytes reply;
  OwnerKey owner;
};

// Not thread-safe: behind the lock of States. Every turn that says `run` is ended.
class OwnerTurns {
 public:
  OwnerTurns(StateRegistry& registry, Opens& opens) : registry_(registry), opens_(opens) {}

  // Without a `waiter` nobody waits: RESOURCE, as if too many did.
  OwnerTurn begin_open(const ClientRef& client, std::string_view owner, std::uint32_t seqid,
                       base::TimePoint now, DeferredWork& work, TurnWaiter* waiter = nullptr);
  // For operations that name the owner by a stateid of this kind.
  OwnerTurn begin(const stateid4& id, StateKind kind, std::uint32_t seqid, nfs_opnum4 op, base::TimePoint now,
                  DeferredWork& work, TurnWaiter* waiter = nullptr);
  // Returns who waited for it, to be woken.
  [[nodiscard]] TurnWaiter* end(const OwnerKey& owner, nfsstat4 status, base::Bytes reply);

 private:
  // Per owner: each holds a connection's request.
  static constexpr std::uint32_t waiters_max = 4;
  struct Waiting {
    TurnWaiter* first = nullptr;
    TurnWaiter* last = nullptr;
    std::uint32_t count = 0;
  };

  void forget_owner_if_unused(const OwnerKey& key);
  OwnerTurn turn_of(OwnerSequence& sequence, OwnerKey key, std::uint32_t seqid, nfs_opnum4 op,
                    TurnWaiter* waiter);

  StateRegistry& registry_;
  Opens& opens_;
  std::map<OwnerKey, Waiting> waiting_;  // for turns of owners that are busy
};

}  // namespace braid::nfs4::state
