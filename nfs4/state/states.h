// All state that clients hold on files: opens, byte-range locks, delegations, and the kinds that are added.
// Who may do what, and who is in the way.
//
// One instance behind base::Guarded. Synchronous, without I/O and without a clock. What has to be done
// outside the lock (closing files, callbacks, telling the file system) comes back in a DeferredWork.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/state/deferred_work.h"
#include "nfs4/state/delegations/delegations.h"
#include "nfs4/state/io_grant.h"
#include "nfs4/state/kind.h"
#include "nfs4/state/limits.h"
#include "nfs4/state/locks/locks.h"
#include "nfs4/state/opens/opens.h"
#include "nfs4/state/registry.h"
#include "nfs4/state/state_line.h"
#include "nfs4/state/turns.h"

namespace braid::nfs4::state {

class States {
 public:
  // `more`: kinds beside opens, locks and delegations; they outlive this.
  States(std::uint32_t epoch, const StateLimits& limits, std::span<Kind* const> more = {});

  [[nodiscard]] Opens& opens() { return opens_; }
  [[nodiscard]] const Opens& opens() const { return opens_; }
  [[nodiscard]] Locks& locks() { return locks_; }
  [[nodiscard]] const Locks& locks() const { return locks_; }
  [[nodiscard]] Delegations& delegations() { return delegations_; }
  [[nodiscard]] const Delegations& delegations() const { return delegations_; }
  // Of 4.0 owners.
  [[nodiscard]] OwnerTurns& turns() { return turns_; }
  [[nodiscard]] const StateLimits& limits() const { return registry_.limits(); }
  [[nodiscard]] std::span<Kind* const> kinds() const { return registry_.kinds(); }

  // --- Stateids of any kind.
  // `access`: share_read or share_write. OPENMODE; LOCKED: a special stateid, and somebody denies this;
  // DELAY: a delegation is in the way.
  base::Result<IoGrant, Refusal> authorize(const StateUse& use, std::uint8_t access, DeferredWork& work);
  // TEST_STATEID
  [[nodiscard]] nfsstat4 test(const stateid4& id, const Client& client) const;
  // FREE_STATEID: LOCKS_HELD for what is in use.
  base::Result<void, nfsstat4> free(const stateid4& id, const Client& client, DeferredWork& work);
  // Whether this state is still there, whatever its seqid.
  [[nodiscard]] bool has(const stateid4& id) const;

  // --- Clients.
  // All state of this client, which is gone, ends. Its stateids are answered EXPIRED from now on (4.0). What
  // is left to be done is kept until somebody takes it.
  void drop_client(clientid4 client);
  [[nodiscard]] DeferredWork take_left() { return std::exchange(left_, {}); }
  // By an administrator: what this client with sessions holds is taken back, and its stateids stay to be
  // freed (RFC 8881 18.46.3, SEQ4_STATUS_ADMIN_STATE_REVOKED). What is left to be done is kept as above.
  void revoke_client(clientid4 client);
  // RFC 8881 18.50.3: CLIENTID_BUSY
  [[nodiscard]] bool holds_state(clientid4 client) const;

  // Once a second. `lease_ago`: what was recalled before that is taken back, and 4.0 owners without state
  // that were not used since are forgotten.
  void tick(base::TimePoint lease_ago, base::TimePoint now, DeferredWork& work);

  // --- For people and metrics.
  [[nodiscard]] std::size_t size() const { return registry_.size(); }
  [[nodiscard]] StatePage list(const StateQuery& query) const;
  [[nodiscard]] const StateCounts& count() const { return registry_.counts(); }
  [[nodiscard]] StateCounts count(clientid4 client) const;

 private:
  // Looking at every 4.0 owner takes time that others wait for.
  static constexpr base::Duration sweep_pause = std::chrono::seconds(10);

  base::Result<IoGrant, Refusal> authorize_without_state(const StateUse& use, std::uint8_t access,
                                                         SpecialStateId special, DeferredWork& work);
  // Nothing for what is not to be shown.
  [[nodiscard]] std::optional<StateLine> line_of(const State& state) const;

  StateRegistry registry_;
  Locks locks_{registry_};
  Opens opens_{registry_};
  Delegations delegations_{registry_};
  OwnerTurns turns_{registry_, opens_};
  DeferredWork left_;
  base::TimePoint next_sweep_{};
};

}  // namespace braid::nfs4::state
