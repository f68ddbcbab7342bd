#include "nfs4/callback/callbacks.h"
#include "nfs4/clients.h"
#include "nfs4/ops/callback_parameters.h"
#include "nfs4/ops/client_operations.h"
#include "rpc/session.h"

namespace braid::nfs4::ops {

using enum channel_dir_from_client4;
using enum channel_dir_from_server4;

// RFC 8881 18.34. Any connection may carry requests of any session (SP4_NONE), so what is bound is the back
// channel.
Op4<BIND_CONN_TO_SESSION4resok> bind_conn_to_session(Compound& compound,
                                                     const BIND_CONN_TO_SESSION4args& args) {
  if (compound.operation_count() != 1) return refuse(nfsstat4::NFS4ERR_NOT_ONLY_OP);
  const Clients& clients = compound.server().clients;
  const state::SessionRef session = clients.find_session(args.bctsa_sessid);
  if (!session) return refuse(nfsstat4::NFS4ERR_BADSESSION);
  const auto number = static_cast<std::uint32_t>(nfs_opnum4::OP_BIND_CONN_TO_SESSION);
  if (!session->client->may_send(number, state::principal_of(compound.call().auth)))
    return refuse(nfsstat4::NFS4ERR_WRONG_CRED);
  session->client->renew(compound.now());

  BIND_CONN_TO_SESSION4resok out{.bctsr_sessid = args.bctsa_sessid, .bctsr_dir = CDFS4_FORE};
  const bool back_possible = session->back.slots > 0 && compound.call().session != nullptr;
  if (args.bctsa_dir == CDFC4_FORE) {
    if (compound.call().session != nullptr) session->unbind_back(compound.call().session->number());
  } else if (back_possible) {
    session->bind_back(connection_of(compound.call()));
    if (auto* callbacks = compound.server().callbacks) callbacks->probe(session);
    out.bctsr_dir = args.bctsa_dir == CDFC4_BACK ? CDFS4_BACK : CDFS4_BOTH;
  } else if (args.bctsa_dir == CDFC4_BACK) {
    return refuse(nfsstat4::NFS4ERR_INVAL);
  }
  return out;
}

}  // namespace braid::nfs4::ops
