// The header of an RPC call (RFC 5531 sections 9 and 10): decoding and judging it.
#pragma once

#include <cstdint>

#include "rpc/call.h"
#include "rpc/rpc_msg.x.h"

namespace braid::rpc {

// What a message is, judged by its header alone.
enum class HeaderVerdict : std::uint8_t {
  call,          // in order; call.args stands at the arguments
  reply,         // for a client on this connection
  unanswerable,  // too short, or of no known type: there is nobody to answer to
  rpc_mismatch,  // RPC_MISMATCH is to be answered
  auth_error,    // AUTH_ERROR is to be answered, with `why`
};

struct HeaderOutcome {
  HeaderVerdict verdict = HeaderVerdict::unanswerable;
  auth_stat why = auth_stat::AUTH_OK;  // with auth_error
};

// Fills call.xid, and as far as the verdict allows program, version, procedure and auth, from call.message.
HeaderOutcome decode_call_header(Call& call);

}  // namespace braid::rpc
