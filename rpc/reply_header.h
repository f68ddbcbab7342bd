// Headers of RPC replies (RFC 5531 section 9).
#pragma once

#include <cstdint>

#include "rpc/rpc_msg.x.h"
#include "xdr/encoder.h"

namespace braid::rpc {

// MSG_ACCEPTED with an AUTH_NONE verifier. After SUCCESS the results follow; PROG_MISMATCH has a function of
// its own.
void encode_accepted(xdr::Encoder& out, std::uint32_t xid, accept_stat stat);
void encode_prog_mismatch(xdr::Encoder& out, std::uint32_t xid, std::uint32_t low, std::uint32_t high);
void encode_rpc_mismatch(xdr::Encoder& out, std::uint32_t xid);
void encode_auth_error(xdr::Encoder& out, std::uint32_t xid, auth_stat why);

}  // namespace braid::rpc
