#include "pnfs/data_handle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "tests/unit/pnfs/hex.h"

namespace braid::pnfs {
namespace {

hashing::Key key_of(std::uint8_t first) {
  std::array<std::byte, hashing::key_bytes> bytes{};
  bytes[0] = std::byte{first};
  return hashing::Key(bytes);
}

ServerId server_of(std::uint8_t last) {
  ServerId id{};
  id.back() = std::byte{last};
  return id;
}

DataHandle sample_handle() {
  return {.object = ObjectId(0x0102030405060708),
          .index = 3,
          .striping = {.unit = base::MiB, .width = 4, .first = 2, .packing = Packing::dense},
          .iomode = Iomode::read_write,
          .export_id = vfs::ExportId(0x0a0b0c0d),
          .client = ClientTag(0x2122232425262728),
          .grant = GrantNumber(0x313233343536),
          .epoch = Epoch(0x41424344),
          .size = 0x5152535455565758};
}

class DataHandleTest : public testing::Test {
 protected:
  const DataHandleCodec codec_{key_of(1), KeyNumber(0x0e0f), server_of(9)};
};

TEST_F(DataHandleTest, has_the_bytes_of_the_document) {
  const vfs::FileHandle wire = codec_.seal(sample_handle());
  EXPECT_EQ(hex_of(wire.view().first(48)),
            "81030e0f0a0b0c0d"
            "0102030405060708"
            "0304020001003132"
            "3334353641424344"
            "5152535455565758"
            "2122232425262728");
  EXPECT_EQ(wire.size, 64U);
  EXPECT_EQ(DataHandleCodec::key_of(wire.view()), KeyNumber(0x0e0f));
}

TEST_F(DataHandleTest, what_was_sealed_is_opened) {
  std::mt19937_64 random(1);
  const auto below = [&](std::uint64_t bound) { return random() % bound; };
  for (int i = 0; i < 2000; ++i) {
    DataHandle handle = sample_handle();
    const auto width = static_cast<std::uint32_t>(1 + below(Striping::width_max));
    handle.striping.width = width;
    handle.striping.first = static_cast<std::uint32_t>(below(width));
    handle.striping.packing = below(2) == 0 ? Packing::sparse : Packing::dense;
    const std::uint64_t units = handle.striping.packing == Packing::sparse ? 16384 : 1024;
    handle.striping.unit = static_cast<std::uint32_t>(Striping::unit_min * (1 + below(units)));
    if (!handle.striping.valid()) handle.striping.unit = Striping::unit_min;
    handle.index = static_cast<std::uint32_t>(below(width));
    handle.iomode = below(2) == 0 ? Iomode::read : Iomode::read_write;
    handle.grant = GrantNumber(random() >> 16U);
    handle.size = random();
    EXPECT_EQ(codec_.open(codec_.seal(handle).view()), handle);
  }
}

TEST_F(DataHandleTest, no_bit_of_it_may_change) {
  const vfs::FileHandle wire = codec_.seal(sample_handle());
  for (std::size_t bit = 0; bit < 8 * DataHandleCodec::bytes_count; ++bit) {
    vfs::FileHandle forged = wire;
    forged.bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(codec_.open(forged.view())) << "bit " << bit;
  }
}

TEST_F(DataHandleTest, another_length_is_no_handle) {
  const vfs::FileHandle wire = codec_.seal(sample_handle());
  for (std::size_t length = 0; length < wire.size; ++length) {
    EXPECT_FALSE(codec_.open(wire.view().first(length)));
    EXPECT_FALSE(DataHandleCodec::key_of(wire.view().first(length)));
  }
  base::Bytes longer(wire.view().begin(), wire.view().end());
  longer.push_back({});
  EXPECT_FALSE(codec_.open(longer));
}

TEST_F(DataHandleTest, is_for_one_server_and_one_key) {
  const vfs::FileHandle wire = codec_.seal(sample_handle());
  EXPECT_FALSE(DataHandleCodec(key_of(1), KeyNumber(0x0e0f), server_of(8)).open(wire.view()));
  EXPECT_FALSE(DataHandleCodec(key_of(2), KeyNumber(0x0e0f), server_of(9)).open(wire.view()));
  EXPECT_FALSE(DataHandleCodec(key_of(1), KeyNumber(0x0e10), server_of(9)).open(wire.view()));
}

// A later version could sign what this one does not know.
TEST_F(DataHandleTest, what_is_signed_and_says_nonsense_is_none) {
  const vfs::FileHandle wire = codec_.seal(sample_handle());
  const auto refused = [&](std::size_t at, std::uint8_t value) {
    vfs::FileHandle other = wire;
    other.bytes[at] = std::byte{value};
    const Mac mac = sign(key_of(1), {server_of(9), other.view().first(48)});
    std::ranges::copy(mac.bytes, other.bytes.begin() + 48);
    return !codec_.open(other.view());
  };
  EXPECT_FALSE(refused(16, 2));
  EXPECT_TRUE(refused(0, 0x82));
  EXPECT_TRUE(refused(1, 0x07));
  EXPECT_TRUE(refused(16, 4)) << "an object that there is not";
  EXPECT_TRUE(refused(17, 0));
  EXPECT_TRUE(refused(18, 4));
  EXPECT_TRUE(refused(19, 0x10)) << "a stripe unit of 2^32 bytes and one MiB";
}

TEST_F(DataHandleTest, handles_of_metadata_servers_are_none) {
  vfs::FileHandle other = codec_.seal(sample_handle());
  for (const std::byte version : {std::byte{0}, std::byte{1}, std::byte{2}}) {
    other.bytes[0] = version;
    EXPECT_FALSE(DataHandleCodec::key_of(other.view()));
  }
}

}  // namespace
}  // namespace braid::pnfs
