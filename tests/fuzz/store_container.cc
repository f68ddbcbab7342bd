// Containers of a store: whatever the bytes are, they are a head, a chunk, a run, a directory, a footer or an
// entry, or refused; what is taken is what is made of it again. Input: which of them, then the bytes; 1 in
// the first byte's highest bit puts the right checksum in its place.
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "base/assert.h"
#include "base/big_endian.h"
#include "base/xxhash64.h"
#include "store/forwarding.h"

namespace {

void check_run(braid::base::Bytes bytes, bool sign) {
  using namespace braid;
  constexpr std::uint32_t at = 64;
  if (sign && bytes.size() >= store::RunHeader::bytes) {
    const std::size_t heads =
        std::size_t{base::load_be<std::uint32_t>(bytes, 4)} % 16 * store::ChunkHeader::bytes;
    if (heads <= bytes.size() - store::RunHeader::bytes)
      base::store_be<std::uint64_t>(
          bytes, 16, base::xxhash64(base::BytesView(bytes).subspan(store::RunHeader::bytes, heads)));
    base::store_be<std::uint64_t>(bytes, 24, base::xxhash64(base::BytesView(bytes).first(24)));
  }
  const auto run = store::decode_run_header(bytes, at);
  if (!run || bytes.size() != run->begin - at) return;
  const auto between = base::BytesView(bytes).subspan(store::RunHeader::bytes);
  const auto heads = store::decode_run_heads(*run, between);
  if (!heads) return;
  base::check(heads->size() == run->chunks, "there is a head for each chunk");
  const auto view = between.first(static_cast<std::size_t>(run->heads_bytes()));
  base::check(base::equal(store::encode_run(at, run->begin, run->length, view), bytes),
              "there is one way to write a run");
}

}  // namespace

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
    case 1: {
      const auto header = store::decode_chunk_header(bytes);
      if (!header) break;
      const auto chunk = base::BytesView(bytes).subspan(store::ChunkHeader::bytes);
      if (!store::is_whole(*header, chunk)) break;
      base::check(base::equal(store::encode_chunk(header->kind, header->id, chunk), bytes),
                  "there is one way to write a chunk");
      break;
    }
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
    case 5:
      check_run(std::move(bytes), sign);
      break;
    default:
      break;
  }
  return 0;
}
