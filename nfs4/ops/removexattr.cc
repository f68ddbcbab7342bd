#include "nfs4/ops/delegated_attributes.h"
#include "nfs4/ops/extended_operations.h"
#include "nfs4/ops/file_operations.h"

namespace braid::nfs4::ops {

Op4<change_info4> removexattr(Compound& compound, const REMOVEXATTR4args& args) {
  const Place& at = *co_await compound.current_in_export();
  co_await break_delegations(compound, at);
  vfs::Wcc wcc;
  const auto done = co_await at.fs().remove_xattr(at.who, at.file, args.rxa_name, wcc).as_result();
  if (!done) co_await refuse(done.error());
  co_return change_info_of(wcc);
}

}  // namespace braid::nfs4::ops
