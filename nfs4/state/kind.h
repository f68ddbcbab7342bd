// A kind of state: what the stateids of one StateKind stand for, and how they come and go.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/state/clients/client.h"
#include "nfs4/state/deferred_work.h"
#include "nfs4/state/state_line.h"
#include "nfs4/state/state_table.h"

namespace braid::nfs4::state {

struct FileState;
struct OpenAnswer;
struct OpenRequest;
struct OpenState;
class StateRegistry;

// Registered with the StateRegistry, and called with the lock on all states held: no I/O and no waiting; what
// has to be done goes into the DeferredWork. A State that a function gets is of this kind.
class Kind {
 public:
  struct Traits {
    StateKind kind = StateKind::open;
    std::string_view name;  // in metrics
    // What a revoked stateid of this kind is answered with (RFC 8881 15.1.5).
    nfsstat4 when_revoked = nfsstat4::NFS4ERR_ADMIN_REVOKED;
    // SEQ4_STATUS_* that a client sees until it has freed what was revoked (RFC 8881 18.46.3):
    // ADMIN_STATE_REVOKED or RECALLABLE_STATE_REVOKED.
    std::uint32_t sequence_flag = SEQ4_STATUS_ADMIN_STATE_REVOKED;
  };
  explicit Kind(const Traits& its_traits) : traits(its_traits) {}
  Kind(const Kind&) = delete;
  Kind& operator=(const Kind&) = delete;
  virtual ~Kind() = default;

  const Traits traits;

  // Once, before there is any state; `registry` outlives this.
  virtual void added_to(StateRegistry& /*registry*/) {}

  // Before end(), and after revoke(), of a state that holds very much: some of that goes. True: it is to be
  // called again.
  virtual bool lessen(State& /*state*/, DeferredWork& /*work*/) { return false; }
  // The state ends, and its stateid with it.
  virtual void end(State& state, DeferredWork& work) = 0;
  // It is taken back from a client with sessions: when lessen() is done it is in nobody's way any more, and
  // its stateid stays until the client frees it, when end() is called.
  virtual void revoke(State& state, DeferredWork& work) = 0;
  // FREE_STATEID may end it (RFC 8881 18.38.3); if not, it is NFS4ERR_LOCKS_HELD.
  [[nodiscard]] virtual bool freeable(const State& state) const = 0;
  // Fills in what is not common to all kinds, of a state that is not revoked. False: it is not to be shown.
  [[nodiscard]] virtual bool describe(const State& state, StateLine& line) const = 0;

  // An OPEN is about to be noted, of a file that need not have any state yet; then `file` goes after the
  // call. True: states of this kind stand in its way (NFS4ERR_DELAY), and are being recalled; those who hold
  // them are appended to `blockers`.
  [[nodiscard]] virtual bool in_the_way(FileState& /*file*/, const OpenRequest& /*request*/,
                                        std::vector<ClientRef>& /*blockers*/, DeferredWork& /*work*/) {
    return false;
  }
  // It has been noted: what of this kind may be granted with it.
  virtual void offer(const OpenState& /*open*/, const OpenRequest& /*request*/,
                     OpenAnswer& /*answer*/) const {}
  // An open is taken off its file: what rests on it ends first.
  virtual void open_ends(OpenState& /*open*/, DeferredWork& /*work*/) {}
  // That was the client's last open of the file.
  virtual void last_close(FileState& /*file*/, const Client& /*client*/, DeferredWork& /*work*/) {}
  // A delegation of the file that the client held has ended, or was taken back. As in last_close(), nobody is
  // to forget the file: whoever calls this does so.
  virtual void delegation_ends(FileState& /*file*/, const Client& /*client*/, DeferredWork& /*work*/) {}
  // The client is gone, or is to lose all it holds; its states are ended or revoked after this.
  virtual void client_leaves(clientid4 /*client*/, DeferredWork& /*work*/) {}
  // Once a second. `lease_ago`: what was recalled before that is taken back by force.
  virtual void tick(base::TimePoint /*lease_ago*/, base::TimePoint /*now*/, DeferredWork& /*work*/) {}
};

}  // namespace braid::nfs4::state
