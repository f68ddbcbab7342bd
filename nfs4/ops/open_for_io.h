// What operations on the content and the attributes of files need before they begin.
#pragma once

#include "nfs4/compound/compound.h"
#include "nfs4/op4.h"
#include "vfs/open_file.h"

namespace braid::nfs4::ops {

// The open that `id` stands for on `at`, which is in an export and outlives the result; under a special
// stateid, or where the stateid's open has no descriptor of this kind, one that is made for this operation.
// Errors as those of authorize_io(), and of opening the file.
Op4<vfs::OpenFileRef> open_for_io(Compound& compound, const Place& at, const stateid4& id,
                                  vfs::OpenAccess access);

// Takes back what others hold of the current filehandle that a change of attributes would make wrong: DELAY
// while delegations are recalled.
Op4<> break_delegations(Compound& compound, const Place& at);

}  // namespace braid::nfs4::ops
