#include "nfs4/ops/file_operations.h"

namespace braid::nfs4::ops {

Op4<> putfh(Compound& compound, const PUTFH4args& args) {
  compound.set_current(co_await compound.resolve(args.object));
}

}  // namespace braid::nfs4::ops
