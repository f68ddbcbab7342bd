#include "rdma/assembly.h"

namespace braid::rdma {

std::optional<io::Payload> assemble(const io::Payload& rest, std::span<const ChunkData> chunks) {
  if (chunks.empty()) return rest;
  io::Payload whole;
  std::size_t used = 0;  // of the rest
  for (const ChunkData& chunk : chunks) {
    if (chunk.position < whole.size()) return std::nullopt;
    const std::size_t before = chunk.position - whole.size();
    if (before > rest.size() - used) return std::nullopt;
    whole.append(rest.slice(used, before));
    whole.append(chunk.data);
    used += before;
  }
  whole.append(rest.slice(used, rest.size() - used));
  return whole;
}

}  // namespace braid::rdma
