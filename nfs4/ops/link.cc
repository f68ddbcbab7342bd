#include "nfs4/names.h"
#include "nfs4/ops/delegated_attributes.h"
#include "nfs4/ops/file_operations.h"

namespace braid::nfs4::ops {

Op4<LINK4resok> link(Compound& compound, const LINK4args& args) {
  co_await check_name(args.newname);
  const Place file = compound.saved();
  const Place dir = compound.current();
  if (file.from != dir.from) co_await refuse(nfsstat4::NFS4ERR_XDEV);
  if (dir.pseudo()) co_await refuse(nfsstat4::NFS4ERR_ROFS);
  co_await compound.check_no_junction(dir, args.newname, nfsstat4::NFS4ERR_EXIST, nfsstat4::NFS4ERR_ACCESS);
  // The file's link count and change attribute are about to change.
  const auto free = co_await break_delegations(compound, file).as_result();
  co_await break_directory_delegations(compound, dir, args.newname, EntryChange::comes);
  if (!free) co_await refuse(free.error());
  vfs::Wcc wcc;
  const auto done = co_await dir.fs().link(dir.who, file.file, dir.file, args.newname, wcc).as_result();
  if (!done) {
    const auto attributes = co_await file.attributes().as_result();
    // RFC 8881 18.9.3
    if (attributes && attributes->type == vfs::FileType::directory) co_await refuse(nfsstat4::NFS4ERR_ISDIR);
    co_await refuse_in_directory(compound, dir, done.error());
  }
  co_return LINK4resok{change_info_of(wcc)};
}

}  // namespace braid::nfs4::ops
