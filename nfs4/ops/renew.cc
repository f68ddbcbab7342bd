#include "nfs4/clients.h"
#include "nfs4/ops/client_operations.h"

namespace braid::nfs4::ops {

// RFC 7530 16.28
Op4<> renew(Compound& compound, const RENEW4args& args) {
  const auto client = compound.server().clients.find_and_renew(args.clientid, compound.now());
  if (!client) return refuse(client.error());
  return Result4<void>();
}

}  // namespace braid::nfs4::ops
