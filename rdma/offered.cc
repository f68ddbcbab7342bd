#include "rdma/offered.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/assert.h"
#include "rdma/buffers.h"
#include "rdma/chunks.h"
#include "rdma/exposure.h"
#include "xdr/padding.h"

namespace braid::rdma {
namespace {

// RFC 5531 section 9: xid, direction, reply_stat, an empty verifier, accept_stat. Longer verifiers have to
// come with a reply chunk.
constexpr std::size_t rpc_reply_header_bytes = 24;

class Planner {
 public:
  Planner(const OfferLimits& limits, io::SlabCursor& cursor, PlannedCall& out)
      : limits_(limits), cursor_(cursor), out_(out) {}

  base::Result<void> make_room(const rpc::ReplyRoom& room);
  base::Result<void> place(const xdr::Message& call);

 private:
  base::Result<OfferedChunk> sink(std::size_t bytes);
  void reduce(const xdr::Message& call);
  [[nodiscard]] std::size_t segments_of(const OfferedChunk& chunk) const {
    return Exposure::segments_of(chunk.memory, limits_.segment_bytes_max);
  }
  // Of chunks that a reply returns, and of a header with read chunks as well.
  [[nodiscard]] std::size_t targets_bytes() const;
  [[nodiscard]] std::size_t header_bytes() const;
  [[nodiscard]] bool countable() const;

  const OfferLimits& limits_;
  io::SlabCursor& cursor_;
  PlannedCall& out_;
};

base::Result<OfferedChunk> Planner::sink(std::size_t bytes) {
  auto memory = take_room(cursor_, bytes);
  if (!memory) return base::fail(memory.error());
  return OfferedChunk{.position = 0, .memory = std::move(*memory), .segments = {}};
}

base::Result<void> Planner::make_room(const rpc::ReplyRoom& room) {
  const std::size_t message = rpc_reply_header_bytes + room.rest_bytes;
  std::size_t inline_bytes = plain_header_bytes + message;
  for (std::size_t i = 0; i < room.item_count; ++i) inline_bytes += xdr::padded(room.items.at(i));
  if (inline_bytes <= limits_.receive_bytes) return {};
  for (std::size_t i = 0; i < room.item_count; ++i) {
    auto chunk = sink(room.items.at(i));
    if (!chunk) return base::fail(chunk.error());
    out_.chunks.writes.push_back(std::move(*chunk));
  }
  if (plain_header_bytes + targets_bytes() + message <= limits_.receive_bytes) return {};
  auto chunk = sink(message);
  if (!chunk) return base::fail(chunk.error());
  out_.chunks.reply = std::move(*chunk);
  return {};
}

base::Result<void> Planner::place(const xdr::Message& call) {
  out_.inline_part = call.bytes;
  if (header_bytes() + out_.inline_part.size() > limits_.send_bytes) reduce(call);
  if (header_bytes() + out_.inline_part.size() > limits_.send_bytes) {
    out_.proc = rdma_proc::RDMA_NOMSG;
    out_.chunks.reads.push_back(
        {.position = 0, .memory = std::exchange(out_.inline_part, {}), .segments = {}});
  }
  if (header_bytes() > limits_.send_bytes || !countable()) return base::fail(EMSGSIZE);
  return {};
}

// Takes the eligible items out of the message, with their padding (RFC 8166 section 3.4.5).
void Planner::reduce(const xdr::Message& call) {
  io::Payload rest;
  std::size_t position = 0;
  for (std::size_t i = 0; i < call.item_count; ++i) {
    const xdr::DataItem& item = call.items.at(i);
    if (item.length == 0) continue;
    rest.append(call.bytes.slice(position, item.offset - position));
    out_.chunks.reads.push_back({.position = static_cast<std::uint32_t>(item.offset),
                                 .memory = call.bytes.slice(item.offset, item.length),
                                 .segments = {}});
    position = item.offset + xdr::padded(item.length);
  }
  rest.append(call.bytes.slice(position, call.bytes.size() - position));
  out_.inline_part = std::move(rest);
}

std::size_t Planner::targets_bytes() const {
  std::size_t bytes = 0;
  for (const OfferedChunk& chunk : out_.chunks.writes) bytes += 8 + 16 * segments_of(chunk);
  if (out_.chunks.reply) bytes += 4 + 16 * segments_of(*out_.chunks.reply);
  return bytes;
}

std::size_t Planner::header_bytes() const {
  std::size_t bytes = plain_header_bytes + targets_bytes();
  for (const OfferedChunk& chunk : out_.chunks.reads) bytes += 24 * segments_of(chunk);
  return bytes;
}

// What our own server takes; others take as much.
bool Planner::countable() const {
  std::size_t reads = 0;
  std::size_t targets = 0;
  bool fits = out_.chunks.writes.size() <= WRITE_CHUNKS_MAX;
  for (const OfferedChunk& chunk : out_.chunks.reads) reads += segments_of(chunk);
  for (const OfferedChunk& chunk : out_.chunks.writes) {
    targets += segments_of(chunk);
    fits = fits && segments_of(chunk) <= CHUNK_SEGMENTS_MAX;
  }
  if (out_.chunks.reply) {
    targets += segments_of(*out_.chunks.reply);
    fits = fits && segments_of(*out_.chunks.reply) <= CHUNK_SEGMENTS_MAX;
  }
  return fits && reads <= READ_SEGMENTS_MAX && reads + targets <= Chunks::segments_max;
}

void encode_segment(xdr::Encoder& out, const Segment& segment) {
  out.u32(segment.key.value());
  out.u32(segment.bytes);
  out.u64(segment.address);
}

void encode_target(xdr::Encoder& out, const OfferedChunk& chunk) {
  out.u32(static_cast<std::uint32_t>(chunk.segments.size()));
  for (const Segment& segment : chunk.segments) encode_segment(out, segment);
}

// The bytes that were written to a chunk: they fill its segments from the first one on.
std::optional<io::Payload> written(const xdr_write_chunk& returned, const OfferedChunk& offered) {
  if (returned.target.size() != offered.segments.size()) return std::nullopt;
  std::size_t bytes = 0;
  bool ended = false;
  for (std::size_t i = 0; i < offered.segments.size(); ++i) {
    const xdr_rdma_segment& got = returned.target[i];
    const Segment& gave = offered.segments[i];
    if (RemoteKey(got.handle) != gave.key || got.offset != gave.address) return std::nullopt;
    if (got.length > (ended ? 0 : gave.bytes)) return std::nullopt;
    ended = ended || got.length < gave.bytes;
    bytes += got.length;
  }
  return offered.memory.slice(0, bytes);
}

}  // namespace

base::Result<PlannedCall> plan_call(const xdr::Message& call, const rpc::ReplyRoom& room,
                                    const OfferLimits& limits, io::SlabCursor& cursor) {
  PlannedCall out;
  Planner planner(limits, cursor, out);
  if (auto made = planner.make_room(room); !made) return base::fail(made.error());
  if (auto placed = planner.place(call); !placed) return base::fail(placed.error());
  return out;
}

void encode_call_header(xdr::Encoder& out, std::uint32_t xid, std::uint32_t credits, rdma_proc proc,
                        const OfferedChunks& chunks) {
  out.u32(xid);
  out.u32(RPCRDMA_VERSION);
  out.u32(credits);
  out.u32(static_cast<std::uint32_t>(proc));
  for (const OfferedChunk& chunk : chunks.reads) {
    for (const Segment& segment : chunk.segments) {
      out.boolean(true);
      out.u32(chunk.position);
      encode_segment(out, segment);
    }
  }
  out.boolean(false);
  for (const OfferedChunk& chunk : chunks.writes) {
    out.boolean(true);
    encode_target(out, chunk);
  }
  out.boolean(false);
  out.boolean(chunks.reply.has_value());
  if (chunks.reply) encode_target(out, *chunks.reply);
}

std::optional<Returned> take_returned(const Header& header, const OfferedChunks& offered) {
  const rpc_rdma_header& lists = header.lists;
  if (!lists.rdma_reads.empty()) return std::nullopt;
  if (!lists.rdma_writes.empty() && lists.rdma_writes.size() != offered.writes.size()) return std::nullopt;
  Returned out;
  for (std::size_t i = 0; i < lists.rdma_writes.size(); ++i) {
    auto item = written(lists.rdma_writes[i].entry, offered.writes[i]);
    if (!item) return std::nullopt;
    out.items.push_back(std::move(*item));
  }
  if (lists.rdma_reply) {
    if (!offered.reply) return std::nullopt;
    auto reply = written(*lists.rdma_reply, *offered.reply);
    if (!reply) return std::nullopt;
    out.reply = std::move(*reply);
  }
  // RFC 8166 section 3.5.3: the message is in one place.
  if ((header.proc == rdma_proc::RDMA_NOMSG) == out.reply.empty()) return std::nullopt;
  return out;
}

}  // namespace braid::rdma
