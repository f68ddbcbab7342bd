#include "nfs4/clients.h"
#include "nfs4/ops/client_operations.h"

namespace braid::nfs4::ops {

// RFC 8881 18.50
Op4<> destroy_clientid(Compound& compound, const DESTROY_CLIENTID4args& args) {
  Clients& clients = compound.server().clients;
  const state::Principal who = state::principal_of(compound.call().auth);
  const auto gone = clients.with([&](state::ClientTable& table) -> Result4<state::ClientRef> {
    const auto client = table.find(args.dca_clientid, compound.minor_version());
    const auto number = static_cast<std::uint32_t>(nfs_opnum4::OP_DESTROY_CLIENTID);
    if (client && !(*client)->may_send(number, who)) return refuse(nfsstat4::NFS4ERR_WRONG_CRED);
    return table.destroy_client(args.dca_clientid);
  });
  if (!gone) co_await refuse(gone.error());
  co_await clients.see_off(args.dca_clientid);
}

}  // namespace braid::nfs4::ops
