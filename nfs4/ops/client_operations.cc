#include "nfs4/ops/client_operations.h"

#include <array>

#include "nfs4/ops/operations.h"

namespace braid::nfs4::ops {

using enum nfs_opnum4;

std::span<const Binding> client_operations() {
  static constexpr auto bindings = std::to_array<Binding>({
      {OP_BACKCHANNEL_CTL, handler_of<backchannel_ctl>},
      {OP_BIND_CONN_TO_SESSION, handler_of<bind_conn_to_session>},
      {OP_CREATE_SESSION, handler_of<create_session>},
      {OP_DESTROY_CLIENTID, handler_of<destroy_clientid>},
      {OP_DESTROY_SESSION, handler_of<destroy_session>},
      {OP_EXCHANGE_ID, handler_of<exchange_id>},
      {OP_RECLAIM_COMPLETE, handler_of<reclaim_complete>},
      {OP_RENEW, handler_of<renew>},
      {OP_SEQUENCE, handler_of<sequence>},
      {OP_SET_SSV, handler_of<set_ssv>},
      {OP_SETCLIENTID, handler_of<setclientid>},
      {OP_SETCLIENTID_CONFIRM, handler_of<setclientid_confirm>},
  });
  return bindings;
}

}  // namespace braid::nfs4::ops
