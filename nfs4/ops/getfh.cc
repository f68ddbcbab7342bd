#include "nfs4/ops/file_operations.h"

namespace braid::nfs4::ops {

Op4<GETFH4resok> getfh(Compound& compound) { return GETFH4resok{compound.current().handle()}; }

}  // namespace braid::nfs4::ops
