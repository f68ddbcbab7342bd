#include "pnfs/layout_record.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/pnfs/hex.h"

namespace braid::pnfs {
namespace {

LayoutRecord sample_record() {
  return {.object = ObjectId(0x0102030405060708),
          .epoch = Epoch(0x11121314),
          .striping = {.unit = base::MiB, .width = 3, .first = 2, .packing = Packing::dense},
          .servers = {ServerNumber(1), ServerNumber(0x21222324), ServerNumber(3)}};
}

class LayoutRecordTest : public testing::Test {
 protected:
  const base::Bytes file_ = base::Bytes(20, std::byte{5});
  const LayoutRecordCodec codec_{hashing::Key()};
};

TEST_F(LayoutRecordTest, has_the_bytes_of_the_document) {
  const base::Bytes bytes = codec_.seal(sample_record(), file_);
  EXPECT_EQ(hex_of(base::BytesView(bytes).first(36)),
            "0101030200100000"
            "0102030405060708"
            "1112131400000000"
            "000000012122232400000003");
  EXPECT_EQ(bytes.size(), 36 + 2 * Mac::bytes_count);
}

TEST_F(LayoutRecordTest, what_was_sealed_is_opened) {
  EXPECT_EQ(codec_.open(codec_.seal(sample_record(), file_), file_), sample_record());
  LayoutRecord widest = sample_record();
  widest.striping = {.unit = base::MiB, .width = Striping::width_max, .first = 0};
  widest.servers.assign(Striping::width_max, ServerNumber(0xffff'ffff));
  const base::Bytes bytes = codec_.seal(widest, file_);
  EXPECT_EQ(bytes.size(), LayoutRecordCodec::bytes_max);
  EXPECT_EQ(codec_.open(bytes, file_), widest);
}

TEST_F(LayoutRecordTest, a_copy_is_told_from_a_damaged_record) {
  const base::Bytes bytes = codec_.seal(sample_record(), file_);
  EXPECT_EQ(codec_.open(bytes, base::Bytes(20, std::byte{6})), base::fail(RecordFault::foreign));
  EXPECT_EQ(codec_.open(bytes, base::Bytes(19, std::byte{5})), base::fail(RecordFault::foreign));
}

TEST_F(LayoutRecordTest, no_bit_of_it_may_change) {
  const base::Bytes bytes = codec_.seal(sample_record(), file_);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    base::Bytes changed = bytes;
    changed[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(codec_.open(changed, file_)) << "bit " << bit;
  }
}

TEST_F(LayoutRecordTest, another_length_is_damage) {
  const base::Bytes bytes = codec_.seal(sample_record(), file_);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_EQ(codec_.open(base::BytesView(bytes).first(length), file_), base::fail(RecordFault::damaged));
  base::Bytes longer = bytes;
  longer.push_back({});
  EXPECT_EQ(codec_.open(longer, file_), base::fail(RecordFault::damaged));
}

TEST_F(LayoutRecordTest, another_key_opens_nothing) {
  std::array<std::byte, hashing::key_bytes> other{};
  other[0] = std::byte{1};
  const LayoutRecordCodec stranger{hashing::Key(other)};
  EXPECT_EQ(stranger.open(codec_.seal(sample_record(), file_), file_), base::fail(RecordFault::damaged));
}

TEST_F(LayoutRecordTest, a_later_version_says_so) {
  base::Bytes bytes = codec_.seal(sample_record(), file_);
  bytes[0] = std::byte{LayoutRecordCodec::version + 1};
  EXPECT_EQ(codec_.open(bytes, file_), base::fail(RecordFault::too_new));
}

}  // namespace
}  // namespace braid::pnfs
