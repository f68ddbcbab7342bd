// What a metadata server keeps of its cluster: a record is what encode() makes, or none.
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "pnfs_mds/records.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace braid;
  const base::BytesView bytes = std::as_bytes(std::span(data, size));
  if (const auto server = pnfs_mds::decode_server(bytes))
    base::check(base::equal(pnfs_mds::encode(*server), bytes), "there is one way to write a server");
  if (const auto removal = pnfs_mds::decode_removal(bytes))
    base::check(base::equal(pnfs_mds::encode(*removal), bytes), "there is one way to write a removal");
  if (const auto dirty = pnfs_mds::decode_dirty(bytes))
    base::check(base::equal(pnfs_mds::encode(*dirty), bytes), "there is one way to write a dirty object");
  if (const auto truncation = pnfs_mds::decode_truncation(bytes))
    base::check(base::equal(pnfs_mds::encode(*truncation), bytes), "there is one way to write a truncation");
  return 0;
}
