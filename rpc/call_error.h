// How a call of ours can fail.
#pragma once

#include <cstdint>
#include <string_view>

namespace braid::rpc {

// Why a call brought no results.
enum class CallError : std::uint8_t {
  closed,        // the connection ended, or there was none
  timed_out,     // the reply, should it still come, is dropped
  no_memory,     // the call could not be encoded (ENOBUFS of the slab pool)
  refused,       // the transport cannot carry it, or the peer could not use it (RDMA_ERROR); it may have run
  malformed,     // the reply is not one of RFC 5531
  rpc_mismatch,  // the server does not speak RPC version 2
  auth_error,    // the server refused the credential
  prog_unavail,  // this and the following: accept_stat of RFC 5531 section 9
  prog_mismatch,
  proc_unavail,
  garbage_args,
  system_err,
};
std::string_view name_of(CallError error);

}  // namespace braid::rpc
