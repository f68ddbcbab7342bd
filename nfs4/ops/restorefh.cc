#include "nfs4/ops/file_operations.h"

namespace braid::nfs4::ops {

Op4<> restorefh(Compound& compound) { return compound.restore_saved(); }

}  // namespace braid::nfs4::ops
