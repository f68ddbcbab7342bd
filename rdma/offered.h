// The chunks of a call of ours (RFC 8166 section 3.4): what it offers to the server, and what the reply says
// has become of that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "io/payload.h"
#include "rdma/header.h"
#include "rdma/keys.h"
#include "rpc/transport.h"
#include "xdr/encoder.h"

namespace braid::rdma {

struct OfferedChunk {
  std::uint32_t position = 0;  // of a read chunk
  io::Payload memory;
  std::vector<Segment> segments;  // once it is offered
};

struct OfferedChunks {
  std::vector<OfferedChunk> reads;   // that of position zero is the last
  std::vector<OfferedChunk> writes;  // one per eligible item of the reply, an empty one too
  std::optional<OfferedChunk> reply;
};

struct OfferLimits {
  std::size_t send_bytes = 0;     // of a message without chunks, to the server
  std::size_t receive_bytes = 0;  // from it
  std::uint32_t segment_bytes_max = 0;
};

// A call on its way: how it is sent (RFC 8166 section 3.5), and its chunks, not yet offered.
struct PlannedCall {
  rdma_proc proc = rdma_proc::RDMA_MSG;
  io::Payload inline_part;
  OfferedChunks chunks;
};

// Makes room for the reply if it may be too long for inline, and takes what is too long for inline out of the
// call: first its eligible items, and the rest too if that does not help. ENOBUFS: no memory for the reply;
// EMSGSIZE: more segments than there may be in a header.
base::Result<PlannedCall> plan_call(const xdr::Message& call, const rpc::ReplyRoom& room,
                                    const OfferLimits& limits, io::SlabCursor& cursor);

// All chunks have been offered.
void encode_call_header(xdr::Encoder& out, std::uint32_t xid, std::uint32_t credits, rdma_proc proc,
                        const OfferedChunks& chunks);

// What a reply brought apart from its inline part. Shares the slabs that were offered.
struct Returned {
  std::vector<io::Payload> items;  // of the write chunks, in their order, empty where nothing was written
  io::Payload reply;               // of the reply chunk
};

// Nothing if the reply does not return the chunks that were offered (RFC 8166 section 3.4.6): others, others'
// addresses or keys, more bytes than there were, bytes behind a gap, or a reply chunk in place of no message.
// Write lists may be left out when nothing was written.
std::optional<Returned> take_returned(const Header& header, const OfferedChunks& offered);

}  // namespace braid::rdma
