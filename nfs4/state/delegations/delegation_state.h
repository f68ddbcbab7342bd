// Delegations (RFC 8881 10.2 to 10.4, 10.9).
#pragma once

#include <cstdint>
#include <utility>

#include "base/clock.h"
#include "nfs4/state/file_state.h"
#include "nfs4/state/state_table.h"
#include "nfs4/state/state_use.h"
#include "vfs/open_file.h"

namespace braid::nfs4::state {

enum class DelegationPhase : std::uint8_t {
  granted,   // nobody minds
  recalled,  // somebody does: the client has been asked, or is about to be
};

struct DelegationState final : State {
  static constexpr StateKind of_kind = StateKind::delegation;
  DelegationState(ClientRef whose, FileState& of, bool writes)
      : State(of_kind, std::move(whose)), file(&of), write(writes) {}
  FileState* file;  // null once revoked
  const bool write;
  bool directory = false;    // of its entries and attributes (RFC 8881 10.9); not to write
  bool timestamps = false;   // the client keeps the times
  std::uint64_t change = 0;  // of the file, as it was given
  DelegationPhase phase = DelegationPhase::granted;
  base::TimePoint recalled{};
  Opener opener;
  vfs::OpenFileRef descriptor;
  vfs::LeaseRef lease;  // against others than NFSv4; null where the file system has none
};

}  // namespace braid::nfs4::state
