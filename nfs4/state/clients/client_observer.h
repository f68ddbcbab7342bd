// Who has to know that a client goes: each kind of state, what runs for clients in the background, a role
// that tells other servers of it.
#pragma once

#include "io/op.h"
#include "nfs4/nfs4.x.h"

namespace braid::nfs4::state {

// Outlives the clients that it is told of. Thread-safe. holds_state() is called with the lock of the table of
// clients held, and the others without it; none of them calls the table.
class ClientObserver {
 public:
  virtual ~ClientObserver() = default;

  // The client holds something that makes it worth remembering when its lease is over.
  [[nodiscard]] virtual bool holds_state(clientid4 /*client*/) const { return false; }
  // The client has just gone: what runs for it is to end. Does not wait for that.
  virtual void stop(clientid4 /*client*/) {}
  // Some of that has not ended yet.
  [[nodiscard]] virtual bool stopping(clientid4 /*client*/) const { return false; }
  // Ends when all of it has ended. What the client held is released after that.
  virtual io::Op<> stopped(clientid4 /*client*/) { return base::Result<void>(); }
  // What the client held is anybody's from now on: it is gone, and will not reclaim it.
  virtual void release(clientid4 /*client*/) {}
  // An administrator takes back all that the client holds, and it lives.
  virtual void revoke(clientid4 /*client*/) {}
};

}  // namespace braid::nfs4::state
