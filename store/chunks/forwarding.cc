#include "store/chunks/forwarding.h"

#include <algorithm>

#include "base/big_endian.h"
#include "base/xxhash64.h"
#include "store/chunks/node.h"

namespace braid::store {
namespace {

// Offsets of docs/format-store.md.
namespace moved_at {
constexpr std::size_t magic = 0, kind = 4, offset = 8, length = 12, id = 16, to = 48, checksum = 56;
}
constexpr std::uint32_t entry_magic = 0x46776472;  // "Fwdr"

std::uint64_t checksum_of(base::BytesView entry, std::uint32_t container) {
  return base::xxhash64(entry.first(moved_at::checksum), container);
}

}  // namespace

base::Bytes encode(const ForwardingEntry& entry, std::uint32_t container) {
  base::Bytes out(ForwardingEntry::bytes);
  base::store_be<std::uint32_t>(out, moved_at::magic, entry_magic);
  base::store_be<std::uint8_t>(out, moved_at::kind, static_cast<std::uint8_t>(entry.kind));
  base::store_be<std::uint32_t>(out, moved_at::offset, entry.offset);
  base::store_be<std::uint32_t>(out, moved_at::length, entry.length);
  std::ranges::copy(entry.id.bytes, out.begin() + moved_at::id);
  base::store_be<std::uint64_t>(out, moved_at::to, entry.to.packed());
  base::store_be<std::uint64_t>(out, moved_at::checksum, checksum_of(out, container));
  return out;
}

std::optional<ForwardingEntry> decode_forwarding_entry(base::BytesView bytes, std::uint32_t container) {
  if (bytes.size() != ForwardingEntry::bytes ||
      base::load_be<std::uint64_t>(bytes, moved_at::checksum) != checksum_of(bytes, container))
    return std::nullopt;
  const auto kind = base::load_be<std::uint8_t>(bytes, moved_at::kind);
  if (kind < static_cast<std::uint8_t>(ChunkKind::data) || kind > static_cast<std::uint8_t>(ChunkKind::root))
    return std::nullopt;
  ForwardingEntry out;
  out.kind = static_cast<ChunkKind>(kind);
  out.offset = base::load_be<std::uint32_t>(bytes, moved_at::offset);
  out.length = base::load_be<std::uint32_t>(bytes, moved_at::length);
  std::ranges::copy(bytes.subspan(moved_at::id, out.id.bytes.size()), out.id.bytes.begin());
  out.to = Location::unpacked(base::load_be<std::uint64_t>(bytes, moved_at::to));
  // So whoever follows entries comes to an end.
  if (out.to.container <= container || out.offset >= Location::offset_end ||
      out.length > chunk_bytes_limit(out.kind) || !base::equal(encode(out, container), bytes))
    return std::nullopt;
  return out;
}

Forwarding Forwarding::decode(base::BytesView bytes, std::uint32_t container) {
  Forwarding out;
  for (; bytes.size() >= ForwardingEntry::bytes; bytes = bytes.subspan(ForwardingEntry::bytes)) {
    const auto entry = decode_forwarding_entry(bytes.first(ForwardingEntry::bytes), container);
    if (entry) out.moved_.push_back({entry->offset, entry->to});
    if (!entry) ++out.damaged_;
  }
  if (!bytes.empty()) ++out.damaged_;
  std::ranges::sort(out.moved_, {}, &Moved::offset);
  return out;
}

std::optional<Location> Forwarding::find(std::uint32_t offset) const {
  const auto found = std::ranges::lower_bound(moved_, offset, {}, &Moved::offset);
  return found == moved_.end() || found->offset != offset ? std::nullopt : std::optional(found->to);
}

base::Bytes encode_forwarding(const StoreId& store, std::uint32_t container,
                              std::span<const ForwardingEntry> entries) {
  base::Bytes out = encode(
      ContainerHeader{.role = ContainerRole::forwarding, .store = store, .volume = 0, .number = container});
  out.reserve(out.size() + entries.size() * ForwardingEntry::bytes);
  for (const ForwardingEntry& entry : entries) {
    const base::Bytes one = encode(entry, container);
    out.insert(out.end(), one.begin(), one.end());
  }
  return out;
}

}  // namespace braid::store
