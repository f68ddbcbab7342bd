#include "nfs4/clients.h"
#include "nfs4/ops/callback_parameters.h"
#include "nfs4/ops/client_operations.h"
#include "nfs4/ops/state_access.h"

namespace braid::nfs4::ops {
namespace {

// Padding of WRITE headers and RDMA read depths are not ours to use: we answer with none (RFC 8881 18.36.3).
state::ChannelAttributes attributes_of(const channel_attrs4& asked) {
  return {.request_bytes_max = asked.ca_maxrequestsize,
          .response_bytes_max = asked.ca_maxresponsesize,
          .cached_bytes_max = asked.ca_maxresponsesize_cached,
          .operations_max = asked.ca_maxoperations,
          .slots = asked.ca_maxrequests};
}

channel_attrs4 wire_of(const state::ChannelAttributes& agreed) {
  return {.ca_headerpadsize = 0,
          .ca_maxrequestsize = agreed.request_bytes_max,
          .ca_maxresponsesize = agreed.response_bytes_max,
          .ca_maxresponsesize_cached = agreed.cached_bytes_max,
          .ca_maxoperations = agreed.operations_max,
          .ca_maxrequests = agreed.slots,
          .ca_rdma_ird = {}};
}

}  // namespace

// RFC 8881 18.36
Op4<CREATE_SESSION4resok> create_session(Compound& compound, const CREATE_SESSION4args& args) {
  const auto callback = callback_parameters(args.csa_cb_program, args.csa_sec_parms);
  if (!callback) co_await refuse(callback.error());
  const bool back = (args.csa_flags & CREATE_SESSION4_FLAG_CONN_BACK_CHAN) != 0;
  const state::CreateSessionRequest request{
      .client = args.csa_clientid,
      .sequence = args.csa_sequence,
      .flags = args.csa_flags,
      .fore = attributes_of(args.csa_fore_chan_attrs),
      .back = attributes_of(args.csa_back_chan_attrs),
      .callback = *callback,
      .principal = state::principal_of(compound.call().auth),
      .address = compound.call().peer.bytes,
      .connection = back ? connection_of(compound.call()) : state::BackConnection()};
  const auto made = compound.server().clients.with(
      [&](state::ClientTable& table) { return table.create_session(request, compound.now()); });
  if (!made) co_await refuse(made.error());
  // What a client held before it began anew is not in its own way.
  (void)co_await settle_left(compound.server()).as_result();
  co_return CREATE_SESSION4resok{.csr_sessionid = made->session,
                                 .csr_sequence = made->sequence,
                                 .csr_flags = made->flags,
                                 .csr_fore_chan_attrs = wire_of(made->fore),
                                 .csr_back_chan_attrs = wire_of(made->back)};
}

}  // namespace braid::nfs4::ops
