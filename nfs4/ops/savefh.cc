#include "nfs4/ops/file_operations.h"

namespace braid::nfs4::ops {

Op4<> savefh(Compound& compound) {
  compound.save_current();
  return io::ready_op<nfsstat4>();
}

}  // namespace braid::nfs4::ops
