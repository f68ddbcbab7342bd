#include "nfs4/ops/file_operations.h"

namespace braid::nfs4::ops {

Op4<SecurityList> secinfo_no_name(Compound& compound, const SECINFO_NO_NAME4args& args) {
  if (args.style == secinfo_style4::SECINFO_STYLE4_PARENT) {
    const auto parent = co_await compound.look_up_parent(compound.current()).as_result();
    if (!parent && parent.error() == nfsstat4::NFS4ERR_NOTDIR)
      co_await refuse_in_directory(compound, compound.current(), vfs::Error::notdir);
    if (!parent) co_await refuse(parent.error());
  }
  // RFC 8881 2.6.3.1.1.8: it consumes the current filehandle.
  compound.set_current({});
  co_return SecurityList{};
}

}  // namespace braid::nfs4::ops
