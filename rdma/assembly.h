// A message whose parts came by different ways, put together again (RFC 8166 section 3.4.5).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "io/payload.h"

namespace braid::rdma {

// What a read chunk brought, padded to a multiple of four bytes: its XDR padding may or may not have come
// with it, but always has its place in the message (RFC 8166 section 3.4.5).
struct ChunkData {
  std::uint32_t position = 0;
  io::Payload data;
};

// `rest` is the message without the chunks; these are sorted by position, which counts bytes of the whole
// message. Shares all slabs. Nothing if a position lies behind the end of what is there, or inside another
// chunk.
std::optional<io::Payload> assemble(const io::Payload& rest, std::span<const ChunkData> chunks);

}  // namespace braid::rdma
