#include "nfs4/ops/attribute_operations.h"

namespace braid::nfs4::ops {

Op4<> nverify(Compound& compound, const NVERIFY4args& args) {
  const bool same = co_await same_attributes(compound, args.obj_attributes);
  if (same) co_await refuse(nfsstat4::NFS4ERR_SAME);
}

}  // namespace braid::nfs4::ops
