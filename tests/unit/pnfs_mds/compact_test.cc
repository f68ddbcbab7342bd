// What a striped content keeps in little memory comes out as it went in.
#include <gtest/gtest.h>

#include <algorithm>

#include "pnfs_mds/compact_handle.h"
#include "pnfs_mds/packed_record.h"

namespace braid::pnfs_mds::test {
namespace {

TEST(CompactHandle, keeps_handles_of_all_sizes) {
  for (std::size_t size = 0; size <= vfs::FileHandle::bytes_max; ++size) {
    vfs::FileHandle handle;
    handle.size = static_cast<std::uint8_t>(size);
    for (std::size_t i = 0; i < size; ++i) handle.bytes.at(i) = static_cast<std::byte>(i + 1);
    const vfs::FileHandle kept = CompactHandle(handle).handle();
    EXPECT_EQ(kept, handle) << size;
    EXPECT_EQ(kept.size, size);
  }
}

TEST(PackedRecord, keeps_records_of_all_widths) {
  for (std::uint32_t width = 1; width <= pnfs::Striping::width_max; ++width) {
    pnfs::LayoutRecord record{.object = pnfs::ObjectId(7),
                              .epoch = pnfs::Epoch(3),
                              .striping = {.unit = pnfs::Striping::unit_min,
                                           .width = width,
                                           .first = width - 1,
                                           .packing = pnfs::Packing::dense},
                              .servers = {}};
    for (std::uint32_t i = 0; i < width; ++i) record.servers.emplace_back(100 + i);
    EXPECT_EQ(PackedRecord(record).record(record.object, record.epoch), record) << width;
  }
}

}  // namespace
}  // namespace braid::pnfs_mds::test
