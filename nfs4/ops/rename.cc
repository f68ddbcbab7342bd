#include "nfs4/names.h"
#include "nfs4/ops/delegated_attributes.h"
#include "nfs4/ops/file_operations.h"

namespace braid::nfs4::ops {
namespace {

// Both directories change, unless there is nothing to rename or both names are of one object.
Op4<> break_directories(Compound& compound, const RENAME4args& args) {
  const Place& from = compound.saved();
  const Place& to = compound.current();
  if (!delegated_to_others(compound, from) && !delegated_to_others(compound, to)) co_return;
  const auto moved = co_await from.fs().lookup(from.who, from.file, args.oldname).as_result();
  if (!moved) co_return;
  const auto replaced = co_await to.fs().lookup(to.who, to.file, args.newname).as_result();
  if (replaced && replaced->file->handle() == moved->file->handle()) co_return;
  const auto from_free = co_await break_delegations(compound, from).as_result();
  co_await break_delegations(compound, to);
  if (!from_free) co_await refuse(from_free.error());
}

}  // namespace

Op4<RENAME4resok> rename(Compound& compound, const RENAME4args& args) {
  co_await check_name(args.oldname);
  co_await check_name(args.newname);
  const Place from = compound.saved();
  const Place to = compound.current();
  if (from.from != to.from) co_await refuse(nfsstat4::NFS4ERR_XDEV);
  if (to.pseudo()) co_await refuse(nfsstat4::NFS4ERR_ROFS);
  co_await compound.check_no_junction(from, args.oldname, nfsstat4::NFS4ERR_FILE_OPEN,
                                      nfsstat4::NFS4ERR_NOENT);
  co_await compound.check_no_junction(to, args.newname, nfsstat4::NFS4ERR_FILE_OPEN,
                                      nfsstat4::NFS4ERR_ACCESS);
  // All are asked before anybody is waited for.
  const auto moved_free = co_await break_delegations_of(compound, from, args.oldname).as_result();
  const auto replaced_free = co_await break_delegations_of(compound, to, args.newname).as_result();
  co_await break_directories(compound, args);
  if (!moved_free) co_await refuse(moved_free.error());
  if (!replaced_free) co_await refuse(replaced_free.error());
  vfs::Wcc from_wcc;
  vfs::Wcc to_wcc;
  const auto done = co_await from.fs()
                        .rename(from.who, from.file, args.oldname, to.file, args.newname, from_wcc, to_wcc)
                        .as_result();
  if (!done) {
    if (done.error() == vfs::Error::notdir) {
      const auto source = co_await from.attributes().as_result();
      if (source) co_await compound.check_directory(source->type);
      const auto target = co_await to.attributes().as_result();
      if (target) co_await compound.check_directory(target->type);
      // RFC 8881 18.26.3: a directory and something else cannot replace each other.
      co_await refuse(nfsstat4::NFS4ERR_EXIST);
    }
    const bool not_replaced = done.error() == vfs::Error::isdir || done.error() == vfs::Error::notempty;
    co_await refuse(not_replaced ? nfsstat4::NFS4ERR_EXIST : status_of(done.error()));
  }
  co_return RENAME4resok{change_info_of(from_wcc), change_info_of(to_wcc)};
}

}  // namespace braid::nfs4::ops
