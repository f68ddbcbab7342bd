// Who may read and write where that is not a question of opens, locks and delegations (a data server).
#pragma once

#include <cstdint>

#include "nfs4/compound/place.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/op4.h"
#include "nfs4/state/io_grant.h"

namespace braid::nfs4 {

class Compound;

// Thread-safe. Outlives every request.
class IoAuthorizer {
 public:
  virtual ~IoAuthorizer() = default;
  // Asked by READ, WRITE, COMMIT and their kin before they do anything; the arguments outlive the result.
  // `at` is an object of an export. `id` is null for an operation that brings no stateid (COMMIT). `access`:
  // state::share_read or share_write. Errors are those of the operation's stateid and NFS4ERR_ACCESS.
  virtual Op4<state::IoGrant> authorize(Compound& compound, const Place& at, const stateid4* id,
                                        std::uint8_t access) = 0;
};

}  // namespace braid::nfs4
