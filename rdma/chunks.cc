#include "rdma/chunks.h"

#include <algorithm>

#include "base/arith.h"

namespace braid::rdma {

void Chunks::clear() {
  segments_.clear();
  reads_.clear();
  writes_.clear();
  call_.reset();
  reply_.reset();
  read_bytes_ = 0;
}

std::optional<ChunkError> Chunks::add(const xdr_rdma_segment& segment, Chunk& to) {
  if (segments_.size() == segments_max) return ChunkError::too_long;
  if (!base::end_of<std::uint64_t>(segment.offset, segment.length)) return ChunkError::wrapped;
  segments_.push_back({RemoteKey(segment.handle), segment.length, segment.offset});
  ++to.count;
  to.bytes += segment.length;
  return std::nullopt;
}

std::optional<ChunkError> Chunks::parse(const rpc_rdma_header& header, const ChunkLimits& limits) {
  clear();
  if (auto error = parse_reads(header, limits)) return error;
  for (const xdr_write_list& node : header.rdma_writes)
    if (auto error = parse_target(node.entry, writes_.emplace_back())) return error;
  if (header.rdma_reply) return parse_target(*header.rdma_reply, reply_.emplace());
  return std::nullopt;
}

std::optional<ChunkError> Chunks::parse_target(const xdr_write_chunk& from, Chunk& to) {
  to.first = static_cast<std::uint32_t>(segments_.size());
  for (const xdr_rdma_segment& segment : from.target)
    if (auto error = add(segment, to)) return error;
  return std::nullopt;
}

// Entries of one position make one chunk, in their order in the list; nothing says that they stand together.
std::optional<ChunkError> Chunks::parse_reads(const rpc_rdma_header& header, const ChunkLimits& limits) {
  std::vector<const xdr_read_chunk*> entries;
  entries.reserve(header.rdma_reads.size());
  for (const xdr_read_list& node : header.rdma_reads) {
    if (node.entry.position % 4 != 0) return ChunkError::misplaced;
    read_bytes_ += node.entry.target.length;
    if (read_bytes_ > limits.read_bytes_max) return ChunkError::too_long;
    if (node.entry.target.length > 0) entries.push_back(&node.entry);
  }
  std::ranges::stable_sort(entries, {}, &xdr_read_chunk::position);
  Chunk* open = nullptr;
  for (const xdr_read_chunk* entry : entries) {
    if (open == nullptr || open->position != entry->position) {
      open = entry->position == 0 ? &call_.emplace() : &reads_.emplace_back();
      open->position = entry->position;
      open->first = static_cast<std::uint32_t>(segments_.size());
    }
    if (auto error = add(entry->target, *open)) return error;
  }
  return std::nullopt;
}

std::optional<RemoteKey> Chunks::sole_key() const {
  if (segments_.empty()) return std::nullopt;
  const RemoteKey key = segments_.front().key;
  const bool sole = std::ranges::all_of(segments_, [&](const Segment& one) { return one.key == key; });
  return sole ? std::optional(key) : std::nullopt;
}

}  // namespace braid::rdma
