#include "nfs4/ops/extended_operations.h"
#include "nfs4/ops/file_operations.h"
#include "nfs4/ops/io_support.h"

namespace braid::nfs4::ops {

Op4<seek_res4> seek(Compound& compound, const SEEK4args& args) {
  const Place& at = *co_await compound.current_in_export(nfsstat4::NFS4ERR_ISDIR);
  const vfs::OpenFileRef open = co_await open_for_io(compound, at, args.sa_stateid, vfs::OpenAccess::read);
  const auto what = args.sa_what == data_content4::NFS4_CONTENT_DATA ? vfs::SeekTo::data : vfs::SeekTo::hole;
  const auto found = co_await open->seek(args.sa_offset, what).as_result();
  if (!found) co_await refuse(found.error());
  co_return seek_res4{.sr_eof = found->eof, .sr_offset = found->offset};
}

}  // namespace braid::nfs4::ops
