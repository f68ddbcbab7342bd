#include "nfs4/ops/file_operations.h"

namespace braid::nfs4::ops {

Op4<> putrootfh(Compound& compound) {
  auto root = compound.root();
  if (!root) return refuse(root.error());
  compound.set_current(std::move(*root));
  return io::ready_op<nfsstat4>();
}

}  // namespace braid::nfs4::ops
