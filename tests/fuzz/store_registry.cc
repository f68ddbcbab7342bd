// The registry of a store, and its file `gone`: they are what is made of them again. Input: which of the two,
// and whether to put the right checksum in its place; then an entry, or the file.
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "base/big_endian.h"
#include "base/xxhash64.h"
#include "store/gone_file.h"
#include "store/registry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace braid;
  if (size == 0) return 0;
  const auto view = std::as_bytes(std::span(data + 1, size - 1));
  base::Bytes bytes(view.begin(), view.end());
  if (data[0] % 2 != 0 && bytes.size() == store::RegistryEntry::bytes)
    base::store_be<std::uint64_t>(bytes, 72, base::xxhash64(base::BytesView(bytes).first(72)));
  if ((data[0] & 2U) != 0) {
    if ((data[0] & 1U) != 0 && bytes.size() >= 8)
      base::store_be<std::uint64_t>(bytes, bytes.size() - 8,
                                    base::xxhash64(base::BytesView(bytes).first(bytes.size() - 8)));
    const auto gone = store::decode_gone(store::StoreId{}, bytes);
    if (gone)
      base::check(base::equal(store::encode_gone(store::StoreId{}, *gone), bytes),
                  "there is one way to write it");
    return 0;
  }
  const auto entry = store::decode_registry_entry(bytes);
  if (entry) base::check(base::equal(store::encode(*entry), bytes), "there is one way to write an entry");
  base::check(!store::is_registry_header(bytes, store::StoreId{}) || !entry, "a head is no entry");
  return 0;
}
