// What operations on the content and the attributes of files need before they begin.
#pragma once

#include "nfs4/compound/compound.h"
#include "nfs4/compound/place.h"
#include "nfs4/op4.h"
#include "nfs4/state/states.h"
#include "vfs/open_file.h"

namespace braid::nfs4::ops {

// The open that `id` stands for on `at`, which is in an export and outlives the result; under a special
// stateid, or where the stateid's open has no descriptor of this kind, one that is made for this operation.
// Errors as those of authorize_io(), and of opening the file.
Op4<vfs::OpenFileRef> open_for_io(Compound& compound, const Place& at, const stateid4& id,
                                  vfs::OpenAccess access);

// What READ, WRITE and SETATTR of the size go through: the open that their stateid stands for, or, under a
// special stateid, what is borrowed for this operation. `grant` and `at` outlive it.
class GrantedFile {
 public:
  GrantedFile(const state::IoGrant& grant, const Place& at)
      : lent_(grant.open != nullptr ? vfs::Borrowed() : at.fs().borrow(at.who, at.file)),
        file_(grant.open != nullptr ? *grant.open : *lent_) {}
  vfs::OpenFile* operator->() const { return &file_; }

 private:
  const vfs::Borrowed lent_;
  vfs::OpenFile& file_;
};

// Takes back what others hold of the current filehandle that a change of attributes would make wrong: DELAY
// while delegations are recalled.
Op4<> break_delegations(Compound& compound, const Place& at);

}  // namespace braid::nfs4::ops
