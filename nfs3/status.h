// The one translation from the file system's errors to those of NFSv3.
#pragma once

#include "nfs3/nfs3.x.h"
#include "vfs/types.h"

namespace braid::nfs3 {

nfsstat3 status_of(vfs::Error error);

}  // namespace braid::nfs3
