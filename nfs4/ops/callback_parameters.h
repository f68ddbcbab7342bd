// What CREATE_SESSION and BACKCHANNEL_CTL say about our calls to the client.
#pragma once

#include <cstdint>
#include <span>

#include "nfs4/nfs4.x.h"
#include "nfs4/op4.h"
#include "nfs4/state/clients/session.h"
#include "rpc/call.h"

namespace braid::nfs4::ops {

// The first of the flavors that we can use; none at all means AUTH_NONE. NFS4ERR_ENCR_ALG_UNSUPP when there
// are only others: RFC 8881 has no status for that.
Result4<state::CallbackParameters> callback_parameters(std::uint32_t program,
                                                       std::span<const callback_sec_parms4> offered);

// The connection that a call came by, as a way back to the client.
state::BackConnection connection_of(const rpc::Call& call);

}  // namespace braid::nfs4::ops
