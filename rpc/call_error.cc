#include "rpc/call_error.h"

namespace braid::rpc {

std::string_view name_of(CallError error) {
  switch (error) {
    case CallError::closed:
      return "connection closed";
    case CallError::timed_out:
      return "timed out";
    case CallError::no_memory:
      return "no memory";
    case CallError::refused:
      return "refused by the transport";
    case CallError::malformed:
      return "malformed reply";
    case CallError::rpc_mismatch:
      return "RPC_MISMATCH";
    case CallError::auth_error:
      return "AUTH_ERROR";
    case CallError::prog_unavail:
      return "PROG_UNAVAIL";
    case CallError::prog_mismatch:
      return "PROG_MISMATCH";
    case CallError::proc_unavail:
      return "PROC_UNAVAIL";
    case CallError::garbage_args:
      return "GARBAGE_ARGS";
    case CallError::system_err:
      return "SYSTEM_ERR";
  }
  return "unknown";
}

}  // namespace braid::rpc
