#include "nfs4/callback/callbacks.h"
#include "nfs4/clients.h"
#include "nfs4/ops/client_operations.h"

namespace braid::nfs4::ops {

// RFC 7530 16.34
Op4<> setclientid_confirm(Compound& compound, const SETCLIENTID_CONFIRM4args& args) {
  const state::Principal who = state::principal_of(compound.call().auth);
  const auto client = compound.server().clients.with([&](state::ClientTable& table) {
    return table.confirm_client_id(args.clientid, args.setclientid_confirm, who, compound.now());
  });
  if (!client) return refuse(client.error());
  if (compound.server().callbacks != nullptr) compound.server().callbacks->probe(args.clientid);
  return Result4<void>();
}

}  // namespace braid::nfs4::ops
