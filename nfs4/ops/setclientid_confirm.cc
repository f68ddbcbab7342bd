#include "nfs4/callback/callbacks.h"
#include "nfs4/clients.h"
#include "nfs4/ops/client_operations.h"
#include "nfs4/ops/state_access.h"

namespace braid::nfs4::ops {

// RFC 7530 16.34
Op4<> setclientid_confirm(Compound& compound, const SETCLIENTID_CONFIRM4args& args) {
  const state::Principal who = state::principal_of(compound.call().auth);
  const auto client = compound.server().clients.with([&](state::ClientTable& table) {
    return table.confirm_client_id(args.clientid, args.setclientid_confirm, who, compound.now());
  });
  if (!client) co_await refuse(client.error());
  compound.server().clients.came_back(**client);
  // What it held before it began anew is not in its own way.
  (void)co_await settle_left(compound.server()).as_result();
  // A delegation that is reclaimed is recalled at once from a client that cannot be called.
  if (compound.server().callbacks != nullptr && compound.server().clients.in_grace())
    compound.server().callbacks->probe_own(args.clientid);
}

}  // namespace braid::nfs4::ops
