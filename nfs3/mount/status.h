// The one translation from the file system's errors to those of MOUNT.
#pragma once

#include "nfs3/mount3.x.h"
#include "vfs/types.h"

namespace braid::nfs3::mount {

// MOUNT knows few errors (RFC 1813 5.1.5); those that it lacks become the nearest one.
mountstat3 status_of(vfs::Error error);

}  // namespace braid::nfs3::mount
