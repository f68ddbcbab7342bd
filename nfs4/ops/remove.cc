#include "nfs4/names.h"
#include "nfs4/ops/file_operations.h"

namespace braid::nfs4::ops {

Op4<REMOVE4resok> remove(Compound& compound, const REMOVE4args& args) {
  co_await check_name(args.target);
  const Place& dir = *co_await compound.current_in_export();
  co_await compound.check_no_junction(dir, args.target, nfsstat4::NFS4ERR_FILE_OPEN, nfsstat4::NFS4ERR_NOENT);
  // All are asked before anybody is waited for.
  const auto free = co_await break_delegations_of(compound, dir, args.target).as_result();
  co_await break_directory_delegations(compound, dir, args.target, EntryChange::goes);
  if (!free) co_await refuse(free.error());
  vfs::Wcc wcc;
  auto done = co_await dir.fs().remove(dir.who, dir.file, args.target, wcc).as_result();
  if (!done && done.error() == vfs::Error::isdir) {
    wcc = {};
    done = co_await dir.fs().rmdir(dir.who, dir.file, args.target, wcc).as_result();
  }
  if (!done) co_await refuse_in_directory(compound, dir, done.error());
  co_return REMOVE4resok{change_info_of(wcc)};
}

}  // namespace braid::nfs4::ops
