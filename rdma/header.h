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
constexpr std::size_t fixed_part_bytes = 16;
// The header of a message without chunks. RFC 8166 section 4.5: of a shorter one not even the xid can be
// trusted, and it is dropped; only RDMA_DONE and RDMA_ERROR are shorter by their nature.
constexpr std::size_t plain_header_bytes = fixed_part_bytes + 12;

// What is to be done with a received message.
enum class HeaderVerdict : std::uint8_t {
  message,    // an RPC message: the rest behind `body`, or in chunks
  error,      // RDMA_ERROR: the peer could not use a message of ours
  ignored,    // dropped: RDMA_DONE, an RDMA_ERROR that cannot be read, and what is too short to be a header
  err_vers,   // to be answered with ERR_VERS
  err_chunk,  // to be answered with ERR_CHUNK
};

// Views into the message and the arena.
struct Header {
  std::uint32_t xid = 0;
  std::uint32_t version = RPCRDMA_VERSION;
  std::uint32_t credits = 0;  // asked for by a call, granted by a reply
  rdma_proc proc = rdma_proc::RDMA_MSG;
  rpc_rdma_header lists;  // of a message
  rpc_rdma_error error;   // of an error
  std::size_t body = 0;   // of a message: the offset of the RPC message, if it is inline
};

// Every verdict has filled in xid and version, but for messages that are too short.
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
void encode_plain_header(xdr::Encoder& out, std::uint32_t xid, std::uint32_t credits);
// RFC 8166 section 4.5: xid and version are those of the message that was in error.
void encode_error(xdr::Encoder& out, std::uint32_t xid, std::uint32_t version, std::uint32_t credits,
                  rpc_rdma_errcode code);

}  // namespace braid::rdma
