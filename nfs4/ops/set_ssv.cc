#include "nfs4/ops/client_operations.h"

namespace braid::nfs4::ops {

// RFC 8881 18.47.3: without SP4_SSV, which EXCHANGE_ID never grants, this is an error.
Op4<> set_ssv(Compound& /*compound*/, const SET_SSV4args& /*args*/) {
  return refuse(nfsstat4::NFS4ERR_INVAL);
}

}  // namespace braid::nfs4::ops
