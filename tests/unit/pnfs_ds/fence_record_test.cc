#include "pnfs_ds/fence_record.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/pnfs/hex.h"

namespace braid::pnfs_ds {
namespace {

const ObjectKey some_object{pnfs::ObjectId(0x0102030405060708), 9};
const std::vector<std::pair<FenceRecord, std::string>> samples{
    {EpochFence{some_object, pnfs::Epoch(0x11121314), pnfs::GrantNumber(0x2122)},
     "01"
     "0102030405060708"
     "00000009"
     "11121314"
     "0000000000002122"},
    {RemovedObject{some_object, pnfs::GrantNumber(0x2122)},
     "02"
     "0102030405060708"
     "00000009"
     "0000000000002122"},
    {BarredClient{pnfs::ClientTag(0x3132333435363738), pnfs::GrantNumber(0x2122)},
     "03"
     "3132333435363738"
     "0000000000002122"},
    {EpochFence{
         some_object, pnfs::Epoch(0x11121314), pnfs::GrantNumber(0x2122),
         pnfs::KeptHandles{.client = pnfs::ClientTag(0x3132333435363738), .from = pnfs::GrantNumber(0x41)}},
     "05"
     "0102030405060708"
     "00000009"
     "11121314"
     "0000000000002122"
     "3132333435363738"
     "0000000000000041"},
    {LowestGrant{pnfs::GrantNumber(0x2122)},
     "04"
     "0000000000002122"},
};

TEST(FenceRecordTest, have_the_bytes_of_the_document_and_are_read_again) {
  for (const auto& [record, hex] : samples) {
    const base::Bytes bytes = encode(record);
    EXPECT_EQ(pnfs::hex_of(bytes), hex);
    EXPECT_EQ(decode_fence(bytes), record);
  }
}

TEST(FenceRecordTest, other_lengths_and_kinds_are_none) {
  for (const auto& [record, hex] : samples) {
    base::Bytes bytes = encode(record);
    for (std::size_t length = 0; length < bytes.size(); ++length)
      EXPECT_FALSE(decode_fence(base::BytesView(bytes).first(length)));
    bytes.push_back({});
    EXPECT_FALSE(decode_fence(bytes));
    bytes.pop_back();
    bytes[0] = std::byte{6};
    EXPECT_FALSE(decode_fence(bytes));
    bytes[0] = std::byte{0};
    EXPECT_FALSE(decode_fence(bytes));
  }
}

TEST(FenceRecordTest, handles_are_kept_from_some_grant_on) {
  base::Bytes bytes =
      encode(EpochFence{some_object, pnfs::Epoch(2), pnfs::GrantNumber(9),
                        pnfs::KeptHandles{.client = pnfs::ClientTag(1), .from = pnfs::GrantNumber(1)}});
  EXPECT_TRUE(decode_fence(bytes));
  bytes.back() = std::byte{0};
  EXPECT_FALSE(decode_fence(bytes)) << "there is another way to say that none are";
}

}  // namespace
}  // namespace braid::pnfs_ds
