#include "nfs4/ops/extended_operations.h"
#include "nfs4/ops/io_support.h"

namespace braid::nfs4::ops {

Op4<> deallocate(Compound& compound, const DEALLOCATE4args& args) {
  const Place& at = *co_await compound.current_in_export(nfsstat4::NFS4ERR_ISDIR);
  const vfs::OpenFileRef open = co_await open_for_io(compound, at, args.da_stateid, vfs::OpenAccess::write);
  const ByteChange change(compound, nullptr);
  co_await change.admitted();
  const auto done = co_await open->deallocate(at.who, args.da_offset, args.da_length).as_result();
  if (!done) co_await refuse(done.error());
}

}  // namespace braid::nfs4::ops
