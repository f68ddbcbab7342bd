#include "nfs4/callback/callbacks.h"
#include "nfs4/ops/callback_parameters.h"
#include "nfs4/ops/client_operations.h"

namespace braid::nfs4::ops {

// RFC 8881 18.33
Op4<> backchannel_ctl(Compound& compound, const BACKCHANNEL_CTL4args& args) {
  const auto parameters = callback_parameters(args.bca_cb_program, args.bca_sec_parms);
  if (!parameters) return refuse(parameters.error());
  const state::SessionRef& session = compound.in_session->session;
  session->set_callback(*parameters);
  if (auto* callbacks = compound.server().callbacks) callbacks->probe(session);
  return Result4<void>();
}

}  // namespace braid::nfs4::ops
