// CB_COMPOUND with one operation on the wire (RFC 8881 20.2, RFC 7530 15.2): made and understood.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "nfs4/callback/answer.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/state/clients/session.h"
#include "rpc/client.h"
#include "xdr/encoder.h"

namespace braid::nfs4::callback {

// A request of the client whose reply may not have come yet, though our call is about what it brings (RFC
// 8881 2.10.6.3).
struct ReferringCall {
  state::SessionId session{};
  std::uint32_t slot = 0;
  std::uint32_t sequence = 0;
  friend bool operator==(const ReferringCall&, const ReferringCall&) = default;
};

// The operation, its arguments encoded. OP_CB_SEQUENCE: nothing but that, to see whether the client answers.
struct Request {
  nfs_cb_opnum4 op = nfs_cb_opnum4::OP_CB_ILLEGAL;
  base::Bytes args;
  std::vector<ReferringCall> referring{};  // in a session only; at most referring_max count
};
constexpr std::size_t referring_max = 64;

// What a call in a session takes at most, RPC header included: as if its caller had as many groups as can be.
std::size_t bytes_in_session(const Request& request);
// To a client with sessions: CB_SEQUENCE first.
void encode_in_session(xdr::Encoder& out, const state::Session& session, const state::Session::BackSlot& slot,
                       const Request& request);
// To a 4.0 client; `ident` is its callback_ident.
void encode_4_0(xdr::Encoder& out, std::uint32_t ident, const Request& request);

// What a client with sessions said to CB_SEQUENCE.
struct SequenceAnswer {
  nfsstat4 status = nfsstat4::NFS4_OK;
  std::optional<std::uint32_t> target_slot;  // csr_target_highest_slotid, with OK
};
struct SessionAnswer {
  SequenceAnswer sequence;
  std::optional<Answer> answer;  // to the operation; absent when CB_SEQUENCE failed
};
// Failure::refused: the reply is not one to this request.
base::Result<SessionAnswer, Failure> decode_in_session(const rpc::Results& results,
                                                       const state::Session& session,
                                                       const state::Session::BackSlot& slot,
                                                       nfs_cb_opnum4 op);
base::Result<Answer, Failure> decode_4_0(const rpc::Results& results, nfs_cb_opnum4 op);

}  // namespace braid::nfs4::callback
