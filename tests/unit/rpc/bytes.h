// Bytes for tests: as numbers, as records, as payloads.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "io/payload.h"
#include "io/slab.h"

namespace braid::rpc::test {

inline void put_u32(base::Bytes& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<std::byte>(value >> shift & 0xff));
}
inline base::Bytes words(std::initializer_list<std::uint32_t> values) {
  base::Bytes out;
  for (const std::uint32_t value : values) put_u32(out, value);
  return out;
}
inline void append(base::Bytes& out, base::BytesView more) {
  out.insert(out.end(), more.begin(), more.end());
}
inline std::uint32_t u32_at(base::BytesView bytes, std::size_t offset) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(bytes[offset + i]);
  return value;
}

// One fragment with its mark.
inline base::Bytes fragment(base::BytesView body, bool last) {
  base::Bytes out = words({static_cast<std::uint32_t>(body.size()) | (last ? 0x8000'0000U : 0U)});
  append(out, body);
  return out;
}
inline base::Bytes record(base::BytesView body) { return fragment(body, true); }

// A call with AUTH_NONE and arguments of whole words.
inline base::Bytes call_of(std::uint32_t xid, std::uint32_t program, std::uint32_t version,
                           std::uint32_t procedure, base::BytesView args = {}) {
  base::Bytes out = words({xid, 0, 2, program, version, procedure, 0, 0, 0, 0});
  append(out, args);
  return out;
}

inline base::Bytes bytes_of(const io::Payload& payload) {
  base::Bytes out(payload.size());
  payload.in_memory().value().copy_to(0, out);
  return out;
}

// Copies bytes into slabs, in pieces of at most `piece` bytes that do not lie side by side.
inline io::Payload payload_of(io::SlabPool& pool, base::BytesView bytes,
                              std::size_t piece = io::small_slab_bytes) {
  io::Payload out;
  while (!bytes.empty()) {
    const std::size_t here = std::min(piece, bytes.size());
    io::SlabRange range{pool.acquire(io::SlabSize::small).value(), 0, static_cast<std::uint32_t>(here)};
    std::memcpy(range.writable().data(), bytes.data(), here);
    out.append(std::move(range));
    bytes = bytes.subspan(here);
  }
  return out;
}

}  // namespace braid::rpc::test
