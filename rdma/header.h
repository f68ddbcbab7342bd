// Transport headers (RFC 8166 section 4): what stands in front of an RPC message, or in its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "io/payload.h"
#include "rdma/chunks.h"
#include "rdma/rpcrdma.x.h"
#include "xdr/arena.h"
#include "xdr/encoder.h"

namespace braid::rdma {

// xid, version, credits, procedure: every header of every version begins with them.
constexpr std::size_t header_bytes_min = 16;

// What is to be done with a received message.
enum class HeaderVerdict : std::uint8_t {
  message,       // an RPC message: the rest behind `body`, or in chunks
  error,         // RDMA_ERROR: the peer could not use a message of ours
  ignored,       // RDMA_DONE: dropped (RFC 8166 section 4.6.2)
  err_vers,      // to be answered with ERR_VERS
  err_chunk,     // to be answered with ERR_CHUNK
  unanswerable,  // too short to have an xid: the connection has to end
};

// Views into the message and the arena.
struct Header {
  std::uint32_t xid = 0;
  std::uint32_t credits = 0;  // asked for by a call, granted by a reply
  rdma_proc proc = rdma_proc::RDMA_MSG;
  rpc_rdma_header lists;  // of a message
  rpc_rdma_error error;   // of an error
  std::size_t body = 0;   // of a message: the offset of the RPC message, if it is inline
};

// A verdict other than `unanswerable` has filled in the xid.
HeaderVerdict decode_header(const io::Payload& message, xdr::Arena& arena, Header& out);

// How an RPC message begins (RFC 5531 section 9). Of a message without these two words: zeros, a call.
struct MessageStart {
  std::uint32_t xid = 0;
  bool is_reply = false;
};
MessageStart message_start(const io::Payload& message, std::size_t offset);

// The chunks of a call as a reply returns them: the segments, each with what was written into it, from the
// first on until the bytes end (RFC 8166 section 3.4.6).
struct ReturnedChunk {
  std::span<const Segment> segments;
  std::uint64_t bytes_written = 0;
};

struct ReplyHeader {
  std::uint32_t xid = 0;
  std::uint32_t credits = 0;
  rdma_proc proc = rdma_proc::RDMA_MSG;
  std::span<const ReturnedChunk> writes;
  std::optional<ReturnedChunk> reply;
};

std::size_t encoded_size(const ReplyHeader& header);
void encode(xdr::Encoder& out, const ReplyHeader& header);
// The header of a message without chunks.
constexpr std::size_t plain_header_bytes = header_bytes_min + 12;
void encode_plain_header(xdr::Encoder& out, std::uint32_t xid, std::uint32_t credits);
void encode_error(xdr::Encoder& out, std::uint32_t xid, std::uint32_t credits, rpc_rdma_errcode code);

}  // namespace braid::rdma
