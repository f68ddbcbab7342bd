#include "nfs4/ops/file_operations.h"

namespace braid::nfs4::ops {

// RFC 8881 18.20.3: a server without a public filehandle of its own takes the root.
Op4<> putpubfh(Compound& compound) { return putrootfh(compound); }

}  // namespace braid::nfs4::ops
