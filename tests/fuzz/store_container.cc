// Containers of a store: whatever the bytes are, they are a head, a chunk, a directory, a footer or an entry,
// or refused; what is taken is what is made of it again. Input: which of them, then the bytes; 1 in the first
// byte's highest bit puts the right checksum in its place.
#include <algorithm>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "base/big_endian.h"
#include "base/xxhash64.h"
#include "store/chunks/compression.h"
#include "store/chunks/forwarding.h"

namespace braid {
namespace {

// A chunk's header, and what is stored.
void take_chunk(base::Bytes& bytes, bool sign) {
  const auto stored = base::BytesView(bytes).subspan(std::min(bytes.size(), store::ChunkHeader::bytes));
  if (sign && bytes.size() >= store::ChunkHeader::bytes)
    base::store_be<std::uint64_t>(bytes, 48,
                                  base::xxhash64(stored, base::xxhash64(base::BytesView(bytes).first(48))));
  const auto header = store::decode_chunk_header(bytes);
  if (!header || !store::is_whole(*header, stored)) return;
  const store::StoredBytes again{
      .length = header->length, .compressed = header->compressed != 0, .bytes = stored};
  base::check(base::equal(store::encode_header(header->kind, header->id, again, header->place),
                          base::BytesView(bytes).first(store::ChunkHeader::bytes)),
              "there is one way to write a chunk");
  base::check(header->place.distance >= header->place.following * store::ChunkHeader::bytes,
              "the bytes are behind the headers");
  if (!again.compressed) return;
  base::Bytes chunk(header->length);
  (void)store::decompress(stored, chunk);
}

}  // namespace
}  // namespace braid

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace braid;
  if (size == 0) return 0;
  const auto view = std::as_bytes(std::span(data + 1, size - 1));
  base::Bytes bytes(view.begin(), view.end());
  const bool sign = (data[0] & 0x80U) != 0;
  switch (data[0] & 7U) {
    case 0: {
      if (sign && bytes.size() == store::ContainerHeader::bytes)
        base::store_be<std::uint64_t>(bytes, 56, base::xxhash64(base::BytesView(bytes).first(56)));
      const auto header = store::decode_container_header(bytes);
      if (header) base::check(base::equal(store::encode(*header), bytes), "there is one way to write a head");
      break;
    }
    case 1:
      braid::take_chunk(bytes, sign);
      break;
    case 2: {
      const auto directory = store::decode_directory(bytes);
      if (directory)
        base::check(base::equal(store::encode(*directory), bytes), "there is one way to write it");
      break;
    }
    case 4: {
      constexpr std::uint32_t container = 7;
      if (sign && bytes.size() == store::ForwardingEntry::bytes)
        base::store_be<std::uint64_t>(bytes, 56, base::xxhash64(base::BytesView(bytes).first(56), container));
      const auto entry = store::decode_forwarding_entry(bytes, container);
      if (!entry) break;
      base::check(base::equal(store::encode(*entry, container), bytes), "there is one way to write an entry");
      const auto all = store::Forwarding::decode(bytes, container);
      base::check(all.find(entry->offset) == entry->to && entry->to.container > container,
                  "it leads to a container behind");
      break;
    }
    case 3: {
      if (sign && bytes.size() == store::container_footer_bytes)
        base::store_be<std::uint64_t>(bytes, 16, base::xxhash64(base::BytesView(bytes).first(16)));
      const auto footer = store::decode_footer(bytes);
      if (footer)
        base::check(base::equal(store::encode_footer(*footer), bytes), "there is one way to write it");
      break;
    }
    default:
      break;
  }
  return 0;
}
