// What a data server remembers of handles to refuse: a record is what encode() makes, or none. Input: records
// of 48 bytes at most, each behind its length.
#include <algorithm>
#include <cstdint>

#include "base/assert.h"
#include "pnfs_ds/fence_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace braid;
  base::BytesView rest = std::as_bytes(std::span(data, size));
  pnfs_ds::FenceTable table;
  while (!rest.empty()) {
    const std::size_t length =
        std::min<std::size_t>(std::to_integer<std::size_t>(rest[0]) % 49, rest.size() - 1);
    const base::BytesView bytes = rest.subspan(1, length);
    rest = rest.subspan(1 + length);
    const auto record = pnfs_ds::decode_fence(bytes);
    if (!record) continue;
    base::check(base::equal(pnfs_ds::encode(*record), bytes), "there is one way to write a record");
    table.add(*record);
  }
  pnfs_ds::FenceTable again;
  for (const pnfs_ds::FenceRecord& record : table.records()) again.add(record);
  base::check(again.records() == table.records(), "its records make the same table");
  return 0;
}
