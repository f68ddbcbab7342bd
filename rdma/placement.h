// Where the parts of a reply go: into write chunks, into the reply chunk, or inline (RFC 8166 sections 3.4.6
// and 3.5, RFC 8267).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "io/payload.h"
#include "rdma/chunks.h"
#include "rdma/header.h"
#include "rdma/keys.h"
#include "xdr/encoder.h"

namespace braid::rdma {

// Bytes of ours that belong to memory of the peer.
struct RemoteWrite {
  RemoteKey key;
  std::uint64_t address = 0;
  io::Payload data;
};

// Why a reply cannot be sent; both are ERR_CHUNK (RFC 8166 section 4.5.3).
enum class PlacementError : std::uint8_t {
  write_chunk_too_small,  // an item does not fit its write chunk
  reply_too_long,         // not for inline, and there is no reply chunk that holds it
};

// Made to be used again. What it returns of chunks are views into the Chunks that it was made for.
class Placement {
 public:
  // The n-th eligible item goes to the n-th write chunk, an empty one too; items without a chunk stay where
  // they are. `inline_bytes_max`: of header and message together.
  std::optional<PlacementError> place(const xdr::Message& reply, const Chunks& chunks,
                                      std::size_t inline_bytes_max);

  [[nodiscard]] std::vector<RemoteWrite>& writes() { return writes_; }
  [[nodiscard]] const io::Payload& inline_part() const { return inline_; }
  // For encode(); xid and credits are the caller's.
  [[nodiscard]] ReplyHeader header(std::uint32_t xid, std::uint32_t credits) const {
    return {.xid = xid, .credits = credits, .proc = proc_, .writes = returned_, .reply = returned_reply_};
  }

 private:
  void scatter(const io::Payload& data, std::span<const Segment> segments);
  std::optional<PlacementError> reduce(const xdr::Message& reply, const Chunks& chunks);

  rdma_proc proc_ = rdma_proc::RDMA_MSG;
  io::Payload inline_;  // what no write chunk took
  std::vector<RemoteWrite> writes_;
  std::vector<ReturnedChunk> returned_;
  std::optional<ReturnedChunk> returned_reply_;
};

}  // namespace braid::rdma
