// Transport headers of RPC over RDMA: whatever a peer sends is decoded within bounds, chunk lists that are
// accepted keep every limit, what is read can be written again, and a reply returns no more than was offered.
// Input: how the message is cut into slabs,
// then the message.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"
#include "io/slab.h"
#include "rdma/assembly.h"
#include "rdma/chunks.h"
#include "rdma/header.h"
#include "rdma/offered.h"
#include "rdma/placement.h"
#include "rdma/private_data.h"

namespace {

using braid::base::BytesView;
using braid::base::check;
using namespace braid;

constexpr std::uint64_t read_bytes_max = 1'000'000;

io::Payload in_pieces(io::SlabPool& pool, BytesView bytes, std::size_t piece) {
  io::Payload out;
  while (!bytes.empty()) {
    const std::size_t here = std::min(piece, bytes.size());
    io::SlabRange range{pool.acquire(io::SlabSize::small).value(), 0, static_cast<std::uint32_t>(here)};
    std::ranges::copy(bytes.first(here), range.writable().begin());
    out.append(std::move(range));
    bytes = bytes.subspan(here);
  }
  return out;
}

void check_chunk(const rdma::Chunks& chunks, const rdma::Chunk& chunk) {
  std::uint64_t bytes = 0;
  for (const rdma::Segment& segment : chunks.segments(chunk)) {
    check(segment.address + segment.bytes >= segment.address, "no segment wraps");
    bytes += segment.bytes;
  }
  check(bytes == chunk.bytes, "a chunk is as long as its segments");
}

void check_chunks(const rdma::Chunks& chunks) {
  check(chunks.read_bytes() <= read_bytes_max, "reads are bounded");
  std::uint32_t position = 0;
  for (const rdma::Chunk& chunk : chunks.reads()) {
    check(chunk.position > position && chunk.position % 4 == 0, "read chunks are sorted, each once");
    position = chunk.position;
    check_chunk(chunks, chunk);
  }
  for (const rdma::Chunk& chunk : chunks.writes()) check_chunk(chunks, chunk);
  if (chunks.reply()) check_chunk(chunks, *chunks.reply());
}

// An answer is placed within what was offered, or not at all.
void check_placement(io::SlabCursor& cursor, const rdma::Chunks& chunks, const io::Payload& body) {
  xdr::Encoder out(cursor);
  out.ddp_payload(body);
  out.ddp_payload({});
  const xdr::Message message = out.finish();
  rdma::Placement placement;
  constexpr std::size_t inline_max = 1024;
  if (placement.place(message, chunks, inline_max)) return;
  const rdma::ReplyHeader header = placement.header(1, 1);
  check(rdma::encoded_size(header) + placement.inline_part().size() <= inline_max, "what is inline fits");
  std::uint64_t placed = header.reply ? header.reply->bytes_written : 0;
  for (const rdma::ReturnedChunk& chunk : header.writes) placed += chunk.bytes_written;
  std::uint64_t written = 0;
  for (const rdma::RemoteWrite& write : placement.writes()) written += write.data.size();
  check(placed == written, "what is told to be written is written");
}

// A chunk as it would have been offered had the peer filled it but for `unfilled` bytes of each segment.
std::optional<rdma::OfferedChunk> offered_as(io::SlabCursor& cursor, const rdma::xdr_write_chunk& returned,
                                             std::uint32_t unfilled) {
  rdma::OfferedChunk out;
  for (const rdma::xdr_rdma_segment& one : returned.target) {
    const std::uint64_t bytes = std::uint64_t{one.length} + unfilled;
    if (bytes == 0 || bytes > io::small_slab_bytes) return std::nullopt;
    auto memory = cursor.carve(bytes);
    if (!memory) return std::nullopt;
    out.memory.append(std::move(*memory));
    out.segments.push_back({rdma::RemoteKey(one.handle), static_cast<std::uint32_t>(bytes), one.offset});
  }
  return out;
}

// The lists as those of a reply to a call that offered what they name.
void check_returned(io::SlabCursor& cursor, const rdma::Header& header, std::uint32_t unfilled) {
  rdma::OfferedChunks offered;
  for (const rdma::xdr_write_list& one : header.lists.rdma_writes) {
    auto chunk = offered_as(cursor, one.entry, unfilled);
    if (!chunk) return;
    offered.writes.push_back(std::move(*chunk));
  }
  if (header.lists.rdma_reply) {
    auto chunk = offered_as(cursor, *header.lists.rdma_reply, unfilled);
    if (!chunk) return;
    offered.reply = std::move(*chunk);
  }
  const auto returned = rdma::take_returned(header, offered);
  if (!returned) return;
  check(returned->items.size() == header.lists.rdma_writes.size(), "an item for each write chunk");
  for (std::size_t i = 0; i < returned->items.size(); ++i)
    check(returned->items[i].size() <= offered.writes[i].memory.size(), "no item is longer than its chunk");
  check(returned->reply.empty() || returned->reply.size() <= offered.reply->memory.size(),
        "no reply is longer than its chunk");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static io::SlabPool pool({.bytes_max = 512 * base::MiB, .huge_pages = false});
  const BytesView message = std::as_bytes(std::span(data, size)).subspan(1);
  (void)rdma::decode_private_data(message);
  const std::size_t piece = data[0] == 0 ? io::small_slab_bytes : data[0];
  if (message.size() / piece > 256) return 0;
  const io::Payload payload = in_pieces(pool, message, piece);
  xdr::Arena arena;
  rdma::Header header;
  if (rdma::decode_header(payload, arena, header) != rdma::HeaderVerdict::message) return 0;
  check(header.body <= payload.size(), "the body lies inside");
  io::SlabCursor cursor(pool);
  check_returned(cursor, header, 0);
  check_returned(cursor, header, 4);
  rdma::Chunks chunks;
  if (chunks.parse(header.lists, {read_bytes_max})) return 0;
  check_chunks(chunks);
  const io::Payload body = payload.slice(header.body, payload.size() - header.body);
  check_placement(cursor, chunks, body);
  std::vector<rdma::ChunkData> parts;
  for (const rdma::Chunk& chunk : chunks.reads()) parts.push_back({chunk.position, body});
  (void)rdma::assemble(body, parts);
  return 0;
}
