#include "rpc/reply_header.h"

namespace braid::rpc {
namespace {

template <class Enum>
void put(xdr::Encoder& out, Enum value) {
  out.u32(static_cast<std::uint32_t>(value));
}

}  // namespace

void encode_accepted(xdr::Encoder& out, std::uint32_t xid, accept_stat stat) {
  out.u32(xid);
  put(out, msg_type::REPLY);
  put(out, reply_stat::MSG_ACCEPTED);
  put(out, auth_flavor::AUTH_NONE);
  out.u32(0);  // length of the verifier's body
  put(out, stat);
}

void encode_prog_mismatch(xdr::Encoder& out, std::uint32_t xid, std::uint32_t low, std::uint32_t high) {
  encode_accepted(out, xid, accept_stat::PROG_MISMATCH);
  out.u32(low);
  out.u32(high);
}

void encode_rpc_mismatch(xdr::Encoder& out, std::uint32_t xid) {
  out.u32(xid);
  put(out, msg_type::REPLY);
  put(out, reply_stat::MSG_DENIED);
  put(out, reject_stat::RPC_MISMATCH);
  out.u32(RPC_VERSION);
  out.u32(RPC_VERSION);
}

void encode_auth_error(xdr::Encoder& out, std::uint32_t xid, auth_stat why) {
  out.u32(xid);
  put(out, msg_type::REPLY);
  put(out, reply_stat::MSG_DENIED);
  put(out, reject_stat::AUTH_ERROR);
  put(out, why);
}

}  // namespace braid::rpc
