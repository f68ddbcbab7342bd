// Byte-range locks and the owners that clients name for them.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "nfs4/state/opens/open_state.h"
#include "vfs/types.h"

namespace braid::nfs4::state {

// lock_owner4
struct LockOwner {
  LockOwner(std::size_t& owners, std::size_t& of_peer) : counted(owners, of_peer) {}
  const Counted counted;
  std::string name;
  vfs::LockOwnerId id;
  OwnerSequence sequence;         // 4.0
  std::vector<LockState*> locks;  // in no order
  std::size_t holding = 0;        // of them, those that lock something
  base::TimePoint used{};
};

// The byte-range locks of one lock owner on one file (FileState::ranges). Ends with the open that it came
// from.
struct LockState final : State {
  static constexpr StateKind of_kind = StateKind::lock;
  LockState(ClientRef whose, FileState& of, LockOwner& by, OpenState& from)
      : State(of_kind, std::move(whose)), file(&of), owner(&by), open(&from) {}
  FileState* file;  // this and the next two are null once it is revoked and has no ranges any more
  LockOwner* owner;
  OpenState* open;
  std::size_t ranges = 0;    // how many
  std::size_t at_owner = 0;  // its place in LockOwner::locks
  std::size_t at_open = 0;   // its place in OpenState::locks
};

}  // namespace braid::nfs4::state
