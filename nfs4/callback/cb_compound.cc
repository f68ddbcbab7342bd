#include "nfs4/callback/cb_compound.h"

#include <algorithm>
#include <span>
#include <vector>

#include "xdr/arena.h"
#include "xdr/decoder.h"

namespace braid::nfs4::callback {
namespace {

bool alone(nfs_cb_opnum4 op) { return op == nfs_cb_opnum4::OP_CB_SEQUENCE; }

void encode_operation(xdr::Encoder& out, const Request& request) {
  encode(out, request.op);
  // Arguments are whole XDR items already: their length is a multiple of four, so nothing is padded.
  out.opaque_fixed(request.args);
}

// Number and status of a result.
bool decode_result(xdr::Decoder& in, nfs_cb_opnum4 expected, nfsstat4& status) {
  nfs_cb_opnum4 op{};
  return decode(in, op) && op == expected && decode(in, status);
}

base::Result<Answer, Failure> decode_operation(xdr::Decoder& in, const rpc::Results& results,
                                               nfs_cb_opnum4 op) {
  Answer answer;
  if (!decode_result(in, op, answer.status)) return base::fail(Failure::refused);
  answer.offset = in.position();
  answer.message = results.message;
  return answer;
}

}  // namespace

Failure failure_of(rpc::CallError error) {
  switch (error) {
    case rpc::CallError::closed:
      return Failure::no_path;
    case rpc::CallError::timed_out:
      return Failure::timed_out;
    case rpc::CallError::no_memory:
      return Failure::busy;
    default:
      return Failure::refused;
  }
}

std::size_t bytes_in_session(const Request& request) {
  constexpr std::size_t word = 4;
  constexpr std::size_t credential = 7 * word + rpc::AuthSys::groups_max * word;  // without a machine name
  constexpr std::size_t rpc_header = 6 * word + credential + 2 * word;
  constexpr std::size_t head = 4 * word;  // without a tag
  constexpr std::size_t referring_call = NFS4_SESSIONID_SIZE + 3 * word;
  const std::size_t sequence = word + NFS4_SESSIONID_SIZE + 5 * word +
                               std::min(request.referring.size(), referring_max) * referring_call;
  return rpc_header + head + sequence + (alone(request.op) ? 0 : word + request.args.size());
}

void encode_in_session(xdr::Encoder& out, const state::Session& session, const state::Session::BackSlot& slot,
                       const Request& request) {
  encode(out, CB_COMPOUND4args{.tag = {},
                               .minorversion = session.client->minor_version(),
                               .callback_ident = 0,
                               .argarray_count = alone(request.op) ? 1U : 2U});
  const std::span referring =
      std::span(request.referring).first(std::min(request.referring.size(), referring_max));
  std::vector<referring_call4> calls;
  std::vector<referring_call_list4> lists;
  calls.reserve(referring.size());
  lists.reserve(referring.size());
  for (const ReferringCall& one : referring) {
    calls.push_back({.rc_sequenceid = one.sequence, .rc_slotid = one.slot});
    lists.push_back({.rcl_sessionid = one.session, .rcl_referring_calls = std::span(&calls.back(), 1)});
  }
  encode(out, nfs_cb_opnum4::OP_CB_SEQUENCE);
  encode(out, CB_SEQUENCE4args{.csa_sessionid = session.id,
                               .csa_sequenceid = slot.sequence,
                               .csa_slotid = slot.slot,
                               .csa_highest_slotid = slot.highest,
                               .csa_cachethis = false,
                               .csa_referring_call_lists = lists});
  if (!alone(request.op)) encode_operation(out, request);
}

void encode_4_0(xdr::Encoder& out, std::uint32_t ident, const Request& request) {
  encode(out, CB_COMPOUND4args{.tag = {}, .minorversion = 0, .callback_ident = ident, .argarray_count = 1});
  encode_operation(out, request);
}

base::Result<SessionAnswer, Failure> decode_in_session(const rpc::Results& results,
                                                       const state::Session& session,
                                                       const state::Session::BackSlot& slot,
                                                       nfs_cb_opnum4 op) {
  xdr::Arena arena;
  xdr::Decoder in = results.decoder(arena);
  CB_COMPOUND4res head;
  SessionAnswer out;
  if (!decode(in, head) || head.resarray_count == 0 ||
      !decode_result(in, nfs_cb_opnum4::OP_CB_SEQUENCE, out.sequence.status))
    return base::fail(Failure::refused);
  if (out.sequence.status != nfsstat4::NFS4_OK) return out;
  CB_SEQUENCE4resok sequence;
  // RFC 8881 20.9.3: these three come back as they were sent.
  if (!decode(in, sequence) || sequence.csr_sessionid != session.id || sequence.csr_slotid != slot.slot ||
      sequence.csr_sequenceid != slot.sequence)
    return base::fail(Failure::refused);
  out.sequence.target_slot = sequence.csr_target_highest_slotid;
  if (alone(op)) {
    out.answer.emplace();
    return out;
  }
  if (head.resarray_count < 2) return base::fail(Failure::refused);
  auto answer = decode_operation(in, results, op);
  if (!answer) return base::fail(answer.error());
  out.answer = std::move(*answer);
  return out;
}

base::Result<Answer, Failure> decode_4_0(const rpc::Results& results, nfs_cb_opnum4 op) {
  xdr::Arena arena;
  xdr::Decoder in = results.decoder(arena);
  CB_COMPOUND4res head;
  if (!decode(in, head) || head.resarray_count == 0) return base::fail(Failure::refused);
  return decode_operation(in, results, op);
}

}  // namespace braid::nfs4::callback
