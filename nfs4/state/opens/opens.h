// Opens of all clients on all files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/state/deferred_work.h"
#include "nfs4/state/opens/open_state.h"
#include "nfs4/state/registry.h"

namespace braid::nfs4::state {

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
  // The file was made for it, which admit_one_more() allowed. What others got since keeps it from nothing: it
  // would be told to come again, and find its own file in its way.
  bool made = false;
  base::TimePoint now{};

  // What others must not deny.
  [[nodiscard]] Share needed() const {
    return also_writes ? share.with({.access = share_write, .deny = 0}) : share;
  }
};

struct OpenAnswer {
  stateid4 id;
  bool fresh = false;    // the owner had not opened the file
  bool confirm = false;  // OPEN_CONFIRM has to follow
  // What may be granted by Delegations::give(): the wish's answer, decided by what others have open; with the
  // descriptor that the delegation is to work with. Without one, `no_delegation` says why.
  std::optional<open_delegation_type4> delegation;
  why_no_delegation4 no_delegation = why_no_delegation4::WND4_NOT_WANTED;
  vfs::OpenFileRef descriptor;
  // For undo().
  Share former;
  ShareHistory former_history;
  std::uint32_t former_seqid = 0;
};

// OPEN, OPEN_CONFIRM, OPEN_DOWNGRADE and CLOSE (RFC 8881 18.16 and others; RFC 7530 16.16). Not thread-safe:
// behind the lock of States.
class Opens final : public Kind {
 public:
  explicit Opens(StateRegistry& registry);

  // Notes an open that the file system has allowed. SHARE_DENIED; DELAY: a delegation is being recalled;
  // EXPIRED; RESOURCE (DELAY in 4.1): a limit is reached.
  base::Result<OpenAnswer, Refusal> open(OpenRequest request, DeferredWork& work);
  // The OPEN failed after all.
  void undo(const OpenAnswer& answer, DeferredWork& work);
  base::Result<stateid4, nfsstat4> confirm(const StateUse& use);
  // INVAL unless the owner has asked for just that before.
  base::Result<stateid4, nfsstat4> downgrade(const StateUse& use, const Share& share, DeferredWork& work);
  // Its locks end with it.
  base::Result<stateid4, nfsstat4> close(const StateUse& use, DeferredWork& work);
  // Whether the open would conflict with others now (SHARE_DENIED) or with delegations (DELAY). An owner's
  // own opens are others, too, unless it reclaims.
  base::Result<void, Refusal> admit(const OpenRequest& request, DeferredWork& work);

  // Whether the limits leave room for one more open of this owner: asked before a file is made for it, since
  // what was made is not unmade. RESOURCE (DELAY in 4.1).
  [[nodiscard]] base::Result<void, nfsstat4> admit_one_more(const Client& client, std::string_view owner);

  // The open owner of this name, which is made if need be. Null when a limit is reached, unless it was
  // admitted before.
  OpenOwner* owner_for(ClientStates& states, std::string_view name, base::TimePoint now,
                       bool admitted = false);
  // RFC 7530 9.1.7: the owner's next operation shows that it has the answer to its CLOSE.
  void drop_closed(OpenOwner& owner, DeferredWork& work);
  // Whether a 4.0 owner without state, that was not used since `before`, is to be forgotten; what it never
  // confirmed ends.
  [[nodiscard]] bool unused(OpenOwner& owner, base::TimePoint before, DeferredWork& work);

  void end(State& state, DeferredWork& work) override;
  void revoke(State& state, DeferredWork& work) override;
  [[nodiscard]] bool freeable(const State& state) const override { return state.revoked; }
  [[nodiscard]] bool describe(const State& state, StateLine& line) const override;

 private:
  OpenState* state_for(ClientStates& states, FileState& file, OpenOwner& owner, bool admitted, bool& fresh);
  // Takes the open off its file: it holds nothing any more, only its stateid remains.
  void detach(OpenState& open, DeferredWork& work);

  StateRegistry& registry_;
};

}  // namespace braid::nfs4::state
