#include "nfs4/ops/extended_operations.h"
#include "nfs4/ops/io_support.h"

namespace braid::nfs4::ops {

Op4<> allocate(Compound& compound, const ALLOCATE4args& args) {
  const Place& at = *co_await compound.current_in_export(nfsstat4::NFS4ERR_ISDIR);
  const vfs::OpenFileRef open = co_await open_for_io(compound, at, args.aa_stateid, vfs::OpenAccess::write);
  const ByteChange change(compound, nullptr);
  co_await change.admitted();
  const auto done = co_await open->allocate(at.who, args.aa_offset, args.aa_length).as_result();
  if (!done) co_await refuse(done.error());
}

}  // namespace braid::nfs4::ops
