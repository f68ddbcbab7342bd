// All state that clients hold on files: opens, byte-range locks, delegations, and the kinds that are added.
// Who may do what, and who is in the way.
//
// One instance behind base::Guarded. Synchronous, without I/O and without a clock. What has to be done
// outside the lock (closing files, callbacks, telling the file system) comes back in a DeferredWork.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log_limiter.h"
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
  // FREE_STATEID: LOCKS_HELD for what is in use; DELAY for what is still being taken back.
  base::Result<void, nfsstat4> free(const stateid4& id, const Client& client, DeferredWork& work);
  // Whether this state is still there, whatever its seqid.
  [[nodiscard]] bool has(const stateid4& id) const;

  // --- Clients.
  // All state of this client, which is gone, ends: a portion at once, the rest as somebody asks for what is
  // left to be done. Its stateids are answered EXPIRED from now on (4.0).
  void drop_client(clientid4 client);
  // Ends a portion more, and hands out what that and those before it have left to be done.
  [[nodiscard]] DeferredWork take_left();
  // Clients that have been dropped or revoked still have state: take_left() is to be called again.
  [[nodiscard]] bool leaving() const { return !leaving_.empty(); }
  // By an administrator: what this client with sessions holds is taken back, and its stateids stay to be
  // freed (RFC 8881 18.46.3, SEQ4_STATUS_ADMIN_STATE_REVOKED). In portions, as above.
  void revoke_client(clientid4 client);
  // RFC 8881 18.50.3: CLIENTID_BUSY
  [[nodiscard]] bool holds_state(clientid4 client) const;

  // Once a second. `lease_ago`: what was recalled before that is taken back, and 4.0 owners without state
  // that were not used since are forgotten. True: there is more of it, which tidy() does.
  bool tick(base::TimePoint lease_ago, base::TimePoint now, DeferredWork& work);
  bool tidy(base::TimePoint lease_ago, base::TimePoint now, DeferredWork& work);

  // --- What all clients share, where little of it is left.
  struct ShareCheck {
    bool over = false;    // the client has more states of this kind than its share
    bool logged = false;  // a line in the log is due: one a minute is enough
  };
  ShareCheck check_share(clientid4 client, StateKind kind, base::TimePoint now);

  // --- For people and metrics.
  // How often a client had more than its share.
  [[nodiscard]] std::uint64_t over_share() const { return over_share_; }
  // States and owners that were not made: a client, an address or all have as many as they may.
  [[nodiscard]] std::uint64_t refused() const { return registry_.refused(); }
  [[nodiscard]] std::size_t size() const { return registry_.size(); }
  [[nodiscard]] StatePage list(const StateQuery& query) const;
  [[nodiscard]] const StateCounts& count() const { return registry_.counts(); }
  [[nodiscard]] StateCounts count(clientid4 client) const;
  // Entries that the call has looked at which has looked at the most.
  [[nodiscard]] std::uint64_t longest_call() const { return registry_.steps().longest(); }

 private:
  // A client whose states are to go.
  struct Leaving {
    clientid4 client = 0;
    bool gone = false;   // else they are revoked
    bool begun = false;  // what is to be revoked is known
  };
  static constexpr base::Duration sweep_pause = std::chrono::seconds(10);
  // All clients are looked at, whether there is anything to do or not: in smaller portions than other work.
  static constexpr std::uint64_t sweep_portion = StepCounter::portion / 16;

  base::Result<IoGrant, Refusal> authorize_without_state(const StateUse& use, std::uint8_t access,
                                                         SpecialStateId special, DeferredWork& work);
  void go_on();
  // Ends or revokes one state of it, or forgets an owner. False: there is nothing more.
  bool take_from(Leaving& one);
  bool sweep(base::TimePoint lease_ago, DeferredWork& work);
  bool next_to_sweep();
  template <class Owners, class F>
  bool sweep(Owners& owners, const StepCounter::Call& call, F unused);
  // Nothing for what is not to be shown.
  [[nodiscard]] std::optional<StateLine> line_of(const State& state) const;

  StateRegistry registry_;
  Locks locks_{registry_};
  Opens opens_{registry_};
  Delegations delegations_{registry_};
  OwnerTurns turns_{registry_, opens_};
  DeferredWork left_;
  std::deque<Leaving> leaving_;
  base::TimePoint next_sweep_{};
  std::size_t next_bucket_ = 0;      // of the table of clients, in this round
  std::vector<clientid4> to_sweep_;  // those of the last bucket that are still to be looked at
  std::string next_owner_;           // the first one of the last of them
  bool sweeping_locks_ = false;      // its open owners have been looked at
  std::uint64_t over_share_ = 0;
  base::LogLimiter share_lines_;
};

}  // namespace braid::nfs4::state
