#include "store/chunks/container_format.h"

#include <algorithm>
#include <span>

#include "base/big_endian.h"
#include "base/xxhash64.h"
#include "store/chunks/location.h"
#include "store/chunks/node.h"

namespace braid::store {
namespace {

// Offsets of docs/format-store.md.
namespace container_at {
constexpr std::size_t version = 8, role = 12, volume = 13, reserved = 14, number = 16, zeros = 20, store = 24,
                      zeros_too = 40, checksum = 56;
}
namespace chunk_at {
constexpr std::size_t magic = 0, kind = 4, compression = 5, reserved = 6, length = 8, stored = 12, id = 16,
                      checksum = 48;
}
// Of a chunk in a group; the rest is as above.
namespace grouped_at {
constexpr std::size_t following = 5, length = 6, stored = 9, distance = 12;
}
namespace listed_at {
constexpr std::size_t offset = 0, kind = 4, compressed = 5, length = 8, id = 12;
}
constexpr std::uint8_t is_plain = 0, is_zstd = 1;  // chunk_at::compression
namespace footer_at {
constexpr std::size_t directory = 8, reserved = 12, checksum = 16;
}

constexpr std::array<char, 8> container_magic{'B', 'r', 'a', 'i', 'd', 'C', 'o', 'n'};
constexpr std::array<char, 8> footer_magic{'B', 'r', 'a', 'i', 'd', 'D', 'i', 'r'};
constexpr std::uint32_t container_version = 1;
constexpr std::uint32_t chunk_magic = 0x43686e6b;    // "Chnk"
constexpr std::uint32_t grouped_magic = 0x43686e67;  // "Chng"

bool has_zeros(base::BytesView bytes, std::size_t begin, std::size_t end) {
  return std::ranges::all_of(bytes.subspan(begin, end - begin),
                             [](std::byte byte) { return byte == std::byte{}; });
}

bool starts_with(base::BytesView bytes, const std::array<char, 8>& magic) {
  return base::equal(bytes.first(magic.size()), std::as_bytes(std::span(magic)));
}

std::optional<ChunkKind> kind_of(std::uint8_t byte) {
  if (byte < static_cast<std::uint8_t>(ChunkKind::data) ||
      byte > static_cast<std::uint8_t>(ChunkKind::directory))
    return std::nullopt;
  return static_cast<ChunkKind>(byte);
}

std::uint32_t load_24_bits(base::BytesView from, std::size_t at) {
  return std::uint32_t{base::load_be<std::uint8_t>(from, at)} << 16U |
         base::load_be<std::uint16_t>(from, at + 1);
}

void store_24_bits(base::MutableBytes to, std::size_t at, std::uint32_t value) {
  static_assert(hashing::chunk_bytes_max < 1U << 24U);
  base::store_be<std::uint8_t>(to, at, static_cast<std::uint8_t>(value >> 16U));
  base::store_be<std::uint16_t>(to, at + 1, static_cast<std::uint16_t>(value));
}

base::Bytes header_without_checksum(const ChunkHeader& header) {
  base::Bytes out(ChunkHeader::bytes);
  base::store_be<std::uint8_t>(out, chunk_at::kind, static_cast<std::uint8_t>(header.kind));
  std::ranges::copy(header.id.bytes, out.begin() + chunk_at::id);
  if (header.place.distance > 0) {
    base::store_be<std::uint32_t>(out, chunk_at::magic, grouped_magic);
    base::store_be<std::uint8_t>(out, grouped_at::following, header.place.following);
    store_24_bits(out, grouped_at::length, header.length);
    store_24_bits(out, grouped_at::stored, header.stored());
    base::store_be<std::uint32_t>(out, grouped_at::distance, header.place.distance);
    return out;
  }
  base::store_be<std::uint32_t>(out, chunk_at::magic, chunk_magic);
  base::store_be<std::uint8_t>(out, chunk_at::compression, header.compressed == 0 ? is_plain : is_zstd);
  base::store_be<std::uint32_t>(out, chunk_at::length, header.length);
  base::store_be<std::uint32_t>(out, chunk_at::stored, header.stored());
  return out;
}

std::uint64_t checksum_of(base::BytesView header, base::BytesView bytes) {
  return base::xxhash64(bytes, base::xxhash64(header.first(chunk_at::checksum)));
}

// Only data is, and only if that makes it shorter.
bool may_be_compressed(ChunkKind kind, std::uint32_t length, std::uint32_t compressed) {
  return kind == ChunkKind::data && compressed > 0 && compressed < length;
}

// Of one that is alone. False: it is none.
bool decode_alone(base::BytesView bytes, ChunkHeader& out) {
  out.length = base::load_be<std::uint32_t>(bytes, chunk_at::length);
  const auto stored = base::load_be<std::uint32_t>(bytes, chunk_at::stored);
  const auto compression = base::load_be<std::uint8_t>(bytes, chunk_at::compression);
  if (!has_zeros(bytes, chunk_at::reserved, chunk_at::length)) return false;
  if (compression == is_zstd) out.compressed = stored;
  return compression == is_zstd ? may_be_compressed(out.kind, out.length, stored)
                                : compression == is_plain && stored == out.length;
}

// Of one in a group.
bool decode_grouped(base::BytesView bytes, ChunkHeader& out) {
  out.length = load_24_bits(bytes, grouped_at::length);
  const std::uint32_t stored = load_24_bits(bytes, grouped_at::stored);
  if (stored != out.length) out.compressed = stored;
  out.place = {.following = base::load_be<std::uint8_t>(bytes, grouped_at::following),
               .distance = base::load_be<std::uint32_t>(bytes, grouped_at::distance)};
  const std::uint64_t headers = out.place.following * ChunkHeader::bytes;
  return out.kind != ChunkKind::directory && out.place.distance > 0 && out.place.distance >= headers &&
         out.place.distance < Location::offset_end &&
         (stored == out.length || may_be_compressed(out.kind, out.length, stored));
}

}  // namespace

base::Bytes encode(const ContainerHeader& header) {
  base::Bytes out(ContainerHeader::bytes);
  std::ranges::copy(std::as_bytes(std::span(container_magic)), out.begin());
  base::store_be<std::uint32_t>(out, container_at::version, container_version);
  base::store_be<std::uint8_t>(out, container_at::role, static_cast<std::uint8_t>(header.role));
  base::store_be<std::uint8_t>(out, container_at::volume, header.volume);
  base::store_be<std::uint32_t>(out, container_at::number, header.number);
  std::ranges::copy(header.store, out.begin() + container_at::store);
  base::store_be<std::uint64_t>(out, container_at::checksum,
                                base::xxhash64(base::BytesView(out).first(container_at::checksum)));
  return out;
}

std::optional<ContainerHeader> decode_container_header(base::BytesView bytes) {
  if (bytes.size() != ContainerHeader::bytes || !starts_with(bytes, container_magic) ||
      base::load_be<std::uint64_t>(bytes, container_at::checksum) !=
          base::xxhash64(bytes.first(container_at::checksum)))
    return std::nullopt;
  const auto role = base::load_be<std::uint8_t>(bytes, container_at::role);
  if (base::load_be<std::uint32_t>(bytes, container_at::version) != container_version ||
      role < static_cast<std::uint8_t>(ContainerRole::chunks) ||
      role > static_cast<std::uint8_t>(ContainerRole::forwarding) ||
      !has_zeros(bytes, container_at::reserved, container_at::number) ||
      !has_zeros(bytes, container_at::zeros, container_at::store) ||
      !has_zeros(bytes, container_at::zeros_too, container_at::checksum))
    return std::nullopt;
  ContainerHeader out;
  out.role = static_cast<ContainerRole>(role);
  out.volume = base::load_be<std::uint8_t>(bytes, container_at::volume);
  out.number = base::load_be<std::uint32_t>(bytes, container_at::number);
  std::ranges::copy(bytes.subspan(container_at::store, out.store.size()), out.store.begin());
  return out;
}

base::Bytes encode_header(ChunkKind kind, const hashing::Digest& id, const StoredBytes& stored,
                          const GroupPlace& place) {
  const auto size = static_cast<std::uint32_t>(stored.bytes.size());
  base::Bytes out = header_without_checksum({.kind = kind,
                                             .length = stored.length,
                                             .id = id,
                                             .compressed = stored.compressed ? size : 0,
                                             .place = place});
  base::store_be<std::uint64_t>(out, chunk_at::checksum, checksum_of(out, stored.bytes));
  return out;
}

base::Bytes encode_chunk(ChunkKind kind, const hashing::Digest& id, const StoredBytes& stored) {
  base::Bytes out = encode_header(kind, id, stored);
  out.insert(out.end(), stored.bytes.begin(), stored.bytes.end());
  return out;
}

base::Bytes encode_chunk(ChunkKind kind, const hashing::Digest& id, base::BytesView chunk) {
  return encode_chunk(kind, id, StoredBytes::plain(chunk));
}

std::optional<ChunkHeader> decode_chunk_header(base::BytesView bytes) {
  if (bytes.size() < ChunkHeader::bytes) return std::nullopt;
  const auto magic = base::load_be<std::uint32_t>(bytes, chunk_at::magic);
  const auto kind = kind_of(base::load_be<std::uint8_t>(bytes, chunk_at::kind));
  if (!kind || (magic != chunk_magic && magic != grouped_magic)) return std::nullopt;
  ChunkHeader out{.kind = *kind};
  const bool known = magic == chunk_magic ? decode_alone(bytes, out) : decode_grouped(bytes, out);
  if (!known || out.length > chunk_bytes_limit(*kind)) return std::nullopt;
  out.checksum = base::load_be<std::uint64_t>(bytes, chunk_at::checksum);
  std::ranges::copy(bytes.subspan(chunk_at::id, hashing::digest_bytes), out.id.bytes.begin());
  return out;
}

bool is_whole(const ChunkHeader& header, base::BytesView stored) {
  return stored.size() == header.stored() &&
         checksum_of(header_without_checksum(header), stored) == header.checksum;
}

base::Bytes encode(const std::vector<DirectoryEntry>& directory) {
  base::Bytes out(directory.size() * DirectoryEntry::bytes);
  for (std::size_t i = 0; i < directory.size(); ++i) {
    const auto to = base::MutableBytes(out).subspan(i * DirectoryEntry::bytes, DirectoryEntry::bytes);
    base::store_be<std::uint32_t>(to, listed_at::offset, directory[i].offset);
    base::store_be<std::uint8_t>(to, listed_at::kind, static_cast<std::uint8_t>(directory[i].kind));
    store_24_bits(to, listed_at::compressed, directory[i].compressed);
    base::store_be<std::uint32_t>(to, listed_at::length, directory[i].length);
    std::ranges::copy(directory[i].id.bytes, to.begin() + listed_at::id);
  }
  return out;
}

std::optional<std::vector<DirectoryEntry>> decode_directory(base::BytesView bytes) {
  if (bytes.size() % DirectoryEntry::bytes != 0) return std::nullopt;
  std::vector<DirectoryEntry> out;
  out.reserve(bytes.size() / DirectoryEntry::bytes);
  std::uint64_t at = ContainerHeader::bytes;
  for (; !bytes.empty(); bytes = bytes.subspan(DirectoryEntry::bytes)) {
    const auto kind = kind_of(base::load_be<std::uint8_t>(bytes, listed_at::kind));
    DirectoryEntry entry;
    entry.offset = base::load_be<std::uint32_t>(bytes, listed_at::offset);
    entry.length = base::load_be<std::uint32_t>(bytes, listed_at::length);
    entry.compressed = load_24_bits(bytes, listed_at::compressed);
    const bool in_order = out.empty() ? entry.offset == at : entry.offset >= at;
    if (!kind || *kind == ChunkKind::directory || !in_order || entry.length > chunk_bytes_limit(*kind) ||
        (entry.compressed != 0 && !may_be_compressed(*kind, entry.length, entry.compressed)))
      return std::nullopt;
    entry.kind = *kind;
    std::ranges::copy(bytes.subspan(listed_at::id, hashing::digest_bytes), entry.id.bytes.begin());
    at = std::uint64_t{entry.offset} + ChunkHeader::bytes;
    if (at + entry.stored() > Location::offset_end) return std::nullopt;
    out.push_back(entry);
  }
  return out;
}

base::Bytes encode_footer(std::uint32_t directory_offset) {
  base::Bytes out(container_footer_bytes);
  std::ranges::copy(std::as_bytes(std::span(footer_magic)), out.begin());
  base::store_be<std::uint32_t>(out, footer_at::directory, directory_offset);
  base::store_be<std::uint64_t>(out, footer_at::checksum,
                                base::xxhash64(base::BytesView(out).first(footer_at::checksum)));
  return out;
}

std::optional<std::uint32_t> decode_footer(base::BytesView bytes) {
  if (bytes.size() != container_footer_bytes || !starts_with(bytes, footer_magic) ||
      !has_zeros(bytes, footer_at::reserved, footer_at::checksum) ||
      base::load_be<std::uint64_t>(bytes, footer_at::checksum) !=
          base::xxhash64(bytes.first(footer_at::checksum)))
    return std::nullopt;
  return base::load_be<std::uint32_t>(bytes, footer_at::directory);
}

}  // namespace braid::store
