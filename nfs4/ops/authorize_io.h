// What READ, WRITE, SETATTR of the size or of delegated times, and others may do under the stateid that they
// bring.
#pragma once

#include <cstdint>

#include "nfs4/compound/compound.h"
#include "nfs4/op4.h"
#include "nfs4/state/states.h"

namespace braid::nfs4::ops {

// For an operation on the current filehandle, which is in an export. `access`: state::share_read or
// share_write. With an open in the grant, I/O goes through it; without one it goes through a borrowed file,
// and the caller's own rights count (GrantedFile of open_for_io.h). BAD_STATEID, OLD_STATEID, STALE_STATEID,
// EXPIRED, ADMIN_REVOKED, DELEG_REVOKED; OPENMODE: not opened for this; LOCKED: no stateid, and somebody
// denies this; GRACE: no stateid, and somebody may yet reclaim such an open; DELAY: a delegation is being
// recalled; ACCESS: somebody else has opened the file, and the caller might not. Where the server has an
// IoAuthorizer, that decides.
Op4<state::IoGrant> authorize_io(Compound& compound, const stateid4& id, std::uint8_t access);
// The same for the saved filehandle and another file than the current one: `at` outlives the result.
Op4<state::IoGrant> authorize_io_at(Compound& compound, const Place& at, const stateid4& id,
                                    std::uint8_t access);

// For times of the current filehandle, which is in an export, that the holder of the delegation `id` says
// (RFC 9754 section 5). `access`: state::share_write if the mtime is among them, else share_read. INVAL: no
// delegation that keeps times; OPENMODE: one for reading, which says nothing of the mtime; ACCESS: somebody
// else's, and the caller might not; and what there is to say of a stateid.
Op4<state::IoGrant> authorize_times(Compound& compound, const stateid4& id, std::uint8_t access);

}  // namespace braid::nfs4::ops
