// The one translation from the file system's and the decoder's errors to those of NFSv4.
#pragma once

#include "nfs4/nfs4.x.h"
#include "vfs/types.h"
#include "xdr/decoder.h"

namespace braid::nfs4 {

nfsstat4 status_of(vfs::Error error);
// NFS4_OK for xdr::Error::none.
nfsstat4 status_of(xdr::Error error);

// Some errors exist since 4.1 only; what a 4.0 client gets in their place (RFC 7530 section 13 has no
// NFS4ERR_WRONG_TYPE).
nfsstat4 for_minor(nfsstat4 status, std::uint32_t minor_version);

}  // namespace braid::nfs4
