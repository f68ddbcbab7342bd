// What filehandles mean to a server whose handles are not those of exports (a data server).
#pragma once

#include "base/bytes.h"
#include "nfs4/compound/place.h"
#include "nfs4/op4.h"

namespace braid::nfs4 {

class Compound;

// Thread-safe. Outlives every request.
class HandleResolver {
 public:
  virtual ~HandleResolver() = default;
  // What PUTFH makes the current filehandle; the arguments outlive the result. NFS4ERR_BADHANDLE: no handle
  // of this server; NFS4ERR_STALE: what it named is gone; NFS4ERR_ACCESS.
  virtual Op4<Place> resolve(const Compound& compound, base::BytesView handle) = 0;
};

}  // namespace braid::nfs4
