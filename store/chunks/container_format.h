// Containers, byte by byte. docs/format-store.md is the reference.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "hashing/digest.h"
#include "store/chunks/keys.h"

namespace braid::store {

// A store's name: random, made once.
using StoreId = std::array<std::byte, 16>;

enum class ContainerRole : std::uint8_t {
  chunks = 1,
  forwarding = 2,  // it was rewritten: forwarding.h
};

struct ContainerHeader {
  static constexpr std::size_t bytes = 64;
  ContainerRole role = ContainerRole::chunks;
  StoreId store{};
  std::uint8_t volume = 0;
  std::uint32_t number = 0;
  friend bool operator==(const ContainerHeader&, const ContainerHeader&) = default;
};
base::Bytes encode(const ContainerHeader& header);
// Nothing: it is no container, damaged, or of a later version.
std::optional<ContainerHeader> decode_container_header(base::BytesView bytes);

// Chunks that were written together: their headers stand one behind the other, and then their bytes do, in
// the same order, with nothing between them.
struct GroupPlace {
  static constexpr std::size_t chunks_max = 256;
  std::uint8_t following = 0;  // headers behind this one
  std::uint32_t distance = 0;  // bytes between this header and the bytes of its chunk; 0: it is alone
  friend bool operator==(const GroupPlace&, const GroupPlace&) = default;
};

// What tells of a chunk where it lies.
struct ChunkHeader {
  static constexpr std::size_t bytes = 56;
  ChunkKind kind = ChunkKind::data;
  std::uint32_t length = 0;
  hashing::Digest id{};
  std::uint64_t checksum = 0;    // of all of it and of what is stored
  std::uint32_t compressed = 0;  // to so many bytes, with zstd; 0: the chunk is stored as it is
  GroupPlace place{};
  // Bytes of what is stored.
  [[nodiscard]] std::uint32_t stored() const { return compressed == 0 ? length : compressed; }
  // Where that begins, if the header is at `at`.
  [[nodiscard]] std::uint64_t stored_at(std::uint64_t at) const { return at + bytes + place.distance; }
  // Where the next header is, if there is one.
  [[nodiscard]] std::uint64_t next_at(std::uint64_t at) const {
    return place.following > 0 ? at + bytes : stored_at(at) + stored();
  }
  friend bool operator==(const ChunkHeader&, const ChunkHeader&) = default;
};
// What is stored: the chunk as it is, or what compress() made of it, which is shorter.
struct StoredBytes {
  static StoredBytes plain(base::BytesView chunk) {
    return {static_cast<std::uint32_t>(chunk.size()), false, chunk};
  }
  std::uint32_t length = 0;  // of the chunk
  bool compressed = false;
  base::BytesView bytes{};
};
// What tells of these bytes. Only data is compressed.
base::Bytes encode_header(ChunkKind kind, const hashing::Digest& id, const StoredBytes& stored,
                          const GroupPlace& place = {});
// A header and the bytes behind it.
base::Bytes encode_chunk(ChunkKind kind, const hashing::Digest& id, const StoredBytes& stored);
base::Bytes encode_chunk(ChunkKind kind, const hashing::Digest& id, base::BytesView chunk);
// Nothing: it is none, or longer than any of its kind. Its checksum is not looked at.
std::optional<ChunkHeader> decode_chunk_header(base::BytesView bytes);
// Whether the checksum is that of header and stored bytes.
bool is_whole(const ChunkHeader& header, base::BytesView stored);

// What a container has, in its last chunk when it is full.
struct DirectoryEntry {
  static constexpr std::size_t bytes = 44;
  std::uint32_t offset = 0;
  ChunkKind kind = ChunkKind::data;
  std::uint32_t length = 0;
  hashing::Digest id{};
  std::uint32_t compressed = 0;  // as in its header
  [[nodiscard]] std::uint32_t stored() const { return compressed == 0 ? length : compressed; }
  friend bool operator==(const DirectoryEntry&, const DirectoryEntry&) = default;
};
base::Bytes encode(const std::vector<DirectoryEntry>& directory);
// Nothing unless the entries are in order, and no header is over another.
std::optional<std::vector<DirectoryEntry>> decode_directory(base::BytesView bytes);

// The last bytes of a full container: where its directory begins.
constexpr std::size_t container_footer_bytes = 24;
base::Bytes encode_footer(std::uint32_t directory_offset);
std::optional<std::uint32_t> decode_footer(base::BytesView bytes);

}  // namespace braid::store
