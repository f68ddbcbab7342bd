#include "rdma/placement.h"

#include <algorithm>
#include <utility>

#include "xdr/padding.h"

namespace braid::rdma {
namespace {

static_assert(WRITE_CHUNKS_MAX == xdr::Message::items_max, "every write chunk of a call can be used");

}  // namespace

std::optional<PlacementError> Placement::place(const xdr::Message& reply, const Chunks& chunks,
                                               std::size_t inline_bytes_max) {
  proc_ = rdma_proc::RDMA_MSG;
  inline_.clear();
  writes_.clear();
  returned_.clear();
  returned_reply_.reset();
  if (auto error = reduce(reply, chunks)) return error;
  if (chunks.reply()) returned_reply_ = ReturnedChunk{chunks.segments(*chunks.reply()), 0};
  if (encoded_size(header(0, 0)) + inline_.size() <= inline_bytes_max) return std::nullopt;
  if (!chunks.reply() || inline_.size() > chunks.reply()->bytes) return PlacementError::reply_too_long;
  proc_ = rdma_proc::RDMA_NOMSG;
  returned_reply_->bytes_written = inline_.size();
  scatter(std::exchange(inline_, {}), returned_reply_->segments);
  if (encoded_size(header(0, 0)) > inline_bytes_max) return PlacementError::reply_too_long;
  return std::nullopt;
}

// Takes the items that have a chunk out of the message, with their padding (RFC 8166 section 3.4.6).
std::optional<PlacementError> Placement::reduce(const xdr::Message& reply, const Chunks& chunks) {
  std::size_t position = 0;
  for (std::size_t i = 0; i < chunks.writes().size(); ++i) {
    const Chunk& chunk = chunks.writes()[i];
    const xdr::DataItem item = i < reply.item_count ? reply.items[i] : xdr::DataItem{};
    if (item.length > chunk.bytes) return PlacementError::write_chunk_too_small;
    returned_.push_back({chunks.segments(chunk), item.length});
    if (item.length == 0) continue;
    inline_.append(reply.bytes.slice(position, item.offset - position));
    scatter(reply.bytes.slice(item.offset, item.length), chunks.segments(chunk));
    position = item.offset + xdr::padded(item.length);
  }
  if (position == 0)
    inline_ = reply.bytes;
  else
    inline_.append(reply.bytes.slice(position, reply.bytes.size() - position));
  return std::nullopt;
}

void Placement::scatter(const io::Payload& data, std::span<const Segment> segments) {
  std::size_t offset = 0;
  for (const Segment& segment : segments) {
    const std::size_t here = std::min<std::size_t>(segment.bytes, data.size() - offset);
    if (here == 0) continue;
    writes_.push_back({segment.key, segment.address, data.slice(offset, here)});
    offset += here;
  }
}

}  // namespace braid::rdma
