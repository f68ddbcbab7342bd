#include "nfs4/callback/callbacks.h"
#include "nfs4/clients.h"
#include "nfs4/ops/client_operations.h"
#include "nfs4/state/states.h"

namespace braid::nfs4::ops {

// RFC 7530 16.28. The lease is renewed even if delegations cannot be recalled; the client gives them back, or
// says by SETCLIENTID where else to call it.
Op4<> renew(Compound& compound, const RENEW4args& args) {
  const ServerState& server = compound.server();
  const auto client = server.clients.find_and_renew_40(args.clientid, compound.now());
  if (!client) co_await refuse(client.error());
  if ((*client)->off_record()) co_await server.clients.ensure_recorded(*client);
  const bool holds_delegations = server.states.with([&](const state::States& states) {
    return states.count(args.clientid).of(state::StateKind::delegation) > 0;
  });
  const auto reachable = [&] {
    return server.callbacks != nullptr && server.callbacks->reachable(args.clientid);
  };
  if (holds_delegations && !reachable()) co_await refuse(nfsstat4::NFS4ERR_CB_PATH_DOWN);
}

}  // namespace braid::nfs4::ops
