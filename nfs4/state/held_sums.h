// What each client of 4.0 holds, as a number, so that a later run can tell that the client has reclaimed all
// of it.
#pragma once

#include <optional>
#include <unordered_map>

#include "nfs4/nfs4.x.h"
#include "nfs4/state/clients/grace.h"
#include "nfs4/state/state_line.h"

namespace braid::nfs4::state {

class States;

// Not thread-safe. look() until it says that there is nothing more, then of(). What a client gets or gives
// back meanwhile may count, or not.
class HeldSums {
 public:
  // At a portion of all states. False: that was the last one.
  bool look(const States& states);
  // Nothing: it cannot be told, since a lock of it has more ranges than a line shows, or it has a delegation,
  // and so may have opened files without telling.
  [[nodiscard]] std::optional<Held> of(clientid4 client) const;

 private:
  StateQuery query_{};
  std::unordered_map<clientid4, std::optional<Held>> held_;
};

}  // namespace braid::nfs4::state
