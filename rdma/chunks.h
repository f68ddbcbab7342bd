// The chunk lists of a call (RFC 8166 section 3.4) in the form in which they are worked with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rdma/keys.h"
#include "rdma/rpcrdma.x.h"

namespace braid::rdma {

// A run of segments in Chunks, used one behind the other.
struct Chunk {
  std::uint32_t position = 0;  // of a read chunk: where in the message its data belongs, a multiple of 4
  std::uint32_t first = 0;     // index of its first segment
  std::uint32_t count = 0;     // of segments
  std::uint64_t bytes = 0;     // of all segments
};

struct ChunkLimits {
  std::uint64_t read_bytes_max = 0;  // of all read chunks together
};

// Why lists are not usable; RFC 8166 section 4.5.3 answers each with ERR_CHUNK.
enum class ChunkError : std::uint8_t {
  too_long,   // read chunks bring more than a message may hold, or there are too many segments
  wrapped,    // a segment runs past the end of the address space
  misplaced,  // a position that is not a multiple of 4
};

// Owns its segments. Made to be used again: clear() keeps the memory.
class Chunks {
 public:
  static constexpr std::size_t segments_max = 256;  // of all chunks of a call

  // Replaces the content. The lists may come in any order; segments without bytes are left out of read
  // chunks.
  std::optional<ChunkError> parse(const rpc_rdma_header& header, const ChunkLimits& limits);
  void clear();

  // The chunk at position zero: it holds the message itself (RFC 8166 section 3.5.3).
  [[nodiscard]] const std::optional<Chunk>& call() const { return call_; }
  // The others, by position.
  [[nodiscard]] std::span<const Chunk> reads() const { return reads_; }
  [[nodiscard]] std::span<const Chunk> writes() const { return writes_; }
  [[nodiscard]] const std::optional<Chunk>& reply() const { return reply_; }
  [[nodiscard]] std::span<const Segment> segments(const Chunk& chunk) const {
    return std::span(segments_).subspan(chunk.first, chunk.count);
  }
  // Bytes that all read chunks bring.
  [[nodiscard]] std::uint64_t read_bytes() const { return read_bytes_; }
  // The key that all segments have; nothing if they have several, or if there are none.
  [[nodiscard]] std::optional<RemoteKey> sole_key() const;

 private:
  std::optional<ChunkError> parse_reads(const rpc_rdma_header& header, const ChunkLimits& limits);
  std::optional<ChunkError> parse_target(const xdr_write_chunk& from, Chunk& to);
  std::optional<ChunkError> add(const xdr_rdma_segment& segment, Chunk& to);

  std::vector<Segment> segments_;
  std::vector<Chunk> reads_;
  std::vector<Chunk> writes_;
  std::optional<Chunk> call_;
  std::optional<Chunk> reply_;
  std::uint64_t read_bytes_ = 0;
};

}  // namespace braid::rdma
