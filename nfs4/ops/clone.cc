#include "nfs4/ops/extended_operations.h"
#include "nfs4/ops/file_operations.h"
#include "nfs4/ops/io_support.h"

namespace braid::nfs4::ops {

// The source is the saved filehandle (RFC 7862 15.13.3).
Op4<> clone(Compound& compound, const CLONE4args& args) {
  const Place& to = *co_await compound.current_in_export(nfsstat4::NFS4ERR_ISDIR);
  const Place& from = compound.saved();
  if (from.pseudo()) co_await refuse(nfsstat4::NFS4ERR_ISDIR);
  const vfs::OpenFileRef source =
      co_await open_for_io(compound, from, args.cl_src_stateid, vfs::OpenAccess::read);
  const vfs::OpenFileRef target =
      co_await open_for_io(compound, to, args.cl_dst_stateid, vfs::OpenAccess::write);
  if (&from.fs() != &to.fs()) co_await refuse(nfsstat4::NFS4ERR_XDEV);
  const ByteChange change(compound, nullptr);
  co_await change.admitted();
  const auto done =
      co_await target->clone_from(to.who, *source, args.cl_src_offset, args.cl_dst_offset, args.cl_count)
          .as_result();
  if (!done) co_await refuse(done.error());
}

}  // namespace braid::nfs4::ops
