#include "nfs4/names.h"
#include "nfs4/ops/file_operations.h"

namespace braid::nfs4::ops {

Op4<> lookup(Compound& compound, const LOOKUP4args& args) {
  co_await check_name(args.objname);
  auto found = co_await compound.look_up(compound.current(), args.objname).as_result();
  if (!found && found.error() == nfsstat4::NFS4ERR_NOTDIR)
    co_await refuse_in_directory(compound, compound.current(), vfs::Error::notdir);
  LookedUp there = co_await std::move(found);
  compound.set_current(std::move(there.place), there.seen);
}

}  // namespace braid::nfs4::ops
