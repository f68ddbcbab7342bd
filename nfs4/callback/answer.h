// How a call to a client ended.
#pragma once

#include <cstddef>
#include <cstdint>

#include "io/op.h"
#include "io/payload.h"
#include "nfs4/nfs4.x.h"
#include "rpc/client.h"
#include "xdr/arena.h"
#include "xdr/decoder.h"

namespace braid::nfs4::callback {

// Why a callback brought no answer of the client.
enum class Failure : std::uint8_t {
  no_path,    // no connection, no address, or the client is gone
  timed_out,  // it did not answer in time
  refused,    // it does not want our calls, or answers nonsense
  too_big,    // it takes no calls of that size (ca_maxrequestsize of the back channel)
  busy,       // all slots of the back channel are in use, or the client wants us to wait: try again
  closing,    // the server is
};
Failure failure_of(rpc::CallError error);

// What the client answered to the operation. With OK its results, if it has any, follow at `offset`.
struct Answer {
  nfsstat4 status = nfsstat4::NFS4_OK;
  io::Payload message;
  std::size_t offset = 0;
  [[nodiscard]] xdr::Decoder results(xdr::Arena& arena) const { return {message, arena, offset}; }
};

template <class T = void>
using CallbackOp = io::Op<T, Failure>;

}  // namespace braid::nfs4::callback
