#include "rdma/header.h"

#include <algorithm>

namespace braid::rdma {
namespace {

HeaderVerdict decode_body(xdr::Decoder& in, Header& out) {
  switch (out.proc) {
    case rdma_proc::RDMA_MSG:
    case rdma_proc::RDMA_NOMSG:
      if (!decode(in, out.lists)) return HeaderVerdict::err_chunk;
      out.body = in.position();
      return HeaderVerdict::message;
    case rdma_proc::RDMA_ERROR:
      // Of an error that cannot be read no more is known than that there was one.
      if (!decode(in, out.error)) return HeaderVerdict::ignored;
      return HeaderVerdict::error;
    case rdma_proc::RDMA_DONE:
      return HeaderVerdict::ignored;
    case rdma_proc::RDMA_MSGP:
      break;
  }
  // RFC 8166 section 4.6.1: RDMA_MSGP is no longer a header that a receiver knows.
  return HeaderVerdict::err_chunk;
}

bool may_be_shorter(std::uint32_t proc) {
  return proc == static_cast<std::uint32_t>(rdma_proc::RDMA_DONE) ||
         proc == static_cast<std::uint32_t>(rdma_proc::RDMA_ERROR);
}

void encode_start(xdr::Encoder& out, std::uint32_t xid, std::uint32_t version, std::uint32_t credits,
                  rdma_proc proc) {
  out.u32(xid);
  out.u32(version);
  out.u32(credits);
  out.u32(static_cast<std::uint32_t>(proc));
}

std::size_t encoded_size(const ReturnedChunk& chunk) { return 4 + 16 * chunk.segments.size(); }

void encode(xdr::Encoder& out, const ReturnedChunk& chunk) {
  std::uint64_t left = chunk.bytes_written;
  out.u32(static_cast<std::uint32_t>(chunk.segments.size()));
  for (const Segment& segment : chunk.segments) {
    const auto here = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, segment.bytes));
    out.u32(segment.key.value());
    out.u32(here);
    out.u64(segment.address);
    left -= here;
  }
}

}  // namespace

HeaderVerdict decode_header(const io::Payload& message, xdr::Arena& arena, Header& out) {
  xdr::Decoder in(message, arena);
  std::uint32_t proc;
  if (!in.u32(out.xid) || !in.u32(out.version) || !in.u32(out.credits) || !in.u32(proc))
    return HeaderVerdict::ignored;
  const bool ours = out.version == RPCRDMA_VERSION;
  if (message.size() < plain_header_bytes && !(ours && may_be_shorter(proc))) return HeaderVerdict::ignored;
  if (!ours) return HeaderVerdict::err_vers;
  if (proc > static_cast<std::uint32_t>(rdma_proc::RDMA_ERROR)) return HeaderVerdict::err_chunk;
  out.proc = static_cast<rdma_proc>(proc);
  return decode_body(in, out);
}

MessageStart message_start(const io::Payload& message, std::size_t offset) {
  xdr::Arena arena;
  xdr::Decoder in(message, arena, offset);
  MessageStart start;
  std::uint32_t direction;
  if (!in.u32(start.xid) || !in.u32(direction)) return {};
  constexpr std::uint32_t reply = 1;
  start.is_reply = direction == reply;
  return start;
}

std::size_t encoded_size(const ReplyHeader& header) {
  std::size_t bytes = plain_header_bytes;
  for (const ReturnedChunk& chunk : header.writes) bytes += 4 + encoded_size(chunk);
  return header.reply ? bytes + encoded_size(*header.reply) : bytes;
}

void encode(xdr::Encoder& out, const ReplyHeader& header) {
  encode_start(out, header.xid, RPCRDMA_VERSION, header.credits, header.proc);
  out.boolean(false);  // no read list
  for (const ReturnedChunk& chunk : header.writes) {
    out.boolean(true);
    encode(out, chunk);
  }
  out.boolean(false);
  out.boolean(header.reply.has_value());
  if (header.reply) encode(out, *header.reply);
}

void encode_plain_header(xdr::Encoder& out, std::uint32_t xid, std::uint32_t credits) {
  encode(out,
         ReplyHeader{.xid = xid, .credits = credits, .proc = rdma_proc::RDMA_MSG, .writes = {}, .reply = {}});
}

void encode_error(xdr::Encoder& out, std::uint32_t xid, std::uint32_t version, std::uint32_t credits,
                  rpc_rdma_errcode code) {
  encode_start(out, xid, version, credits, rdma_proc::RDMA_ERROR);
  out.u32(static_cast<std::uint32_t>(code));
  if (code != rpc_rdma_errcode::ERR_VERS) return;
  out.u32(RPCRDMA_VERSION);
  out.u32(RPCRDMA_VERSION);
}

}  // namespace braid::rdma
