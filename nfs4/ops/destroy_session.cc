#include "nfs4/clients.h"
#include "nfs4/ops/client_operations.h"

namespace braid::nfs4::ops {

// RFC 8881 18.37
Op4<> destroy_session(Compound& compound, const DESTROY_SESSION4args& args) {
  const bool own = compound.in_session && compound.in_session->session->id == args.dsa_sessionid;
  if (own && compound.index() + 1 != compound.operation_count()) return refuse(nfsstat4::NFS4ERR_NOT_ONLY_OP);
  Clients& clients = compound.server().clients;
  const state::SessionRef session = clients.find_session(args.dsa_sessionid);
  if (!session) return refuse(nfsstat4::NFS4ERR_BADSESSION);
  const auto number = static_cast<std::uint32_t>(nfs_opnum4::OP_DESTROY_SESSION);
  if (!session->client->may_send(number, state::principal_of(compound.call().auth)))
    return refuse(nfsstat4::NFS4ERR_WRONG_CRED);
  return clients.with(
      [&](state::ClientTable& table) { return table.destroy_session(args.dsa_sessionid, own ? 1 : 0); });
}

}  // namespace braid::nfs4::ops
