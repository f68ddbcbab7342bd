#include "vfs/wire_handle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace braid::vfs {
namespace {

constexpr base::SipKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};

TEST(WireHandleTest, what_was_sealed_opens_again) {
  const HandleCodec codec(ExportId(0x01020304), key);
  for (const std::size_t size : {1U, 8U, 12U, 20U, 48U}) {
    const std::string body(size, 'b');
    const FileHandle handle = codec.seal({size % 8 == 0, 0x81, base::bytes_of(body)});
    EXPECT_EQ(handle.size, HandleCodec::header_bytes + size);
    const auto opened = codec.open(handle.view());
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->body.transient, size % 8 == 0);
    EXPECT_EQ(opened->body.type, 0x81);
    EXPECT_EQ(base::text_of(opened->body.bytes), body);
    EXPECT_EQ(opened->mac, HandleCodec::mac_of(handle.view()));
  }
}

TEST(WireHandleTest, the_bytes_are_as_documented) {
  const FileHandle handle =
      HandleCodec(ExportId(0x01020304), key).seal({true, 0xabcd, base::bytes_of("xyz")});
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(handle.bytes[i]); };
  EXPECT_EQ(handle.size, 19U);
  EXPECT_EQ(at(0), 1U);
  EXPECT_EQ(at(1), 1U);
  EXPECT_EQ(at(2), 0xabU);
  EXPECT_EQ(at(3), 0xcdU);
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(at(4 + i), i + 1);
  EXPECT_EQ(base::text_of(handle.view().subspan(16)), "xyz");
  base::Bytes signed_bytes(handle.bytes.begin(), handle.bytes.begin() + 8);
  signed_bytes.insert(signed_bytes.end(), handle.bytes.begin() + 16, handle.bytes.begin() + 19);
  EXPECT_EQ(HandleCodec::mac_of(handle.view()), base::siphash24(key, signed_bytes));
}

TEST(WireHandleTest, no_bit_can_be_changed) {
  const HandleCodec codec(ExportId(7), key);
  const FileHandle handle = codec.seal({false, 1, base::bytes_of("twelve bytes")});
  for (std::size_t bit = 0; bit < 8UL * handle.size; ++bit) {
    FileHandle forged = handle;
    forged.bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const auto opened = codec.open(forged.view());
    ASSERT_FALSE(opened) << bit;
    EXPECT_EQ(opened.error(), Error::badhandle);
  }
}

TEST(WireHandleTest, no_other_length_is_accepted) {
  const HandleCodec codec(ExportId(7), key);
  const FileHandle handle = codec.seal({false, 1, base::bytes_of("twelve bytes")});
  for (std::size_t size = 0; size <= FileHandle::bytes_max; ++size) {
    if (size == handle.size) continue;
    EXPECT_FALSE(codec.open({handle.bytes.data(), size})) << size;
  }
  const base::Bytes longer(FileHandle::bytes_max + 1);
  EXPECT_FALSE(codec.open(longer));
}

TEST(WireHandleTest, another_export_or_key_makes_other_handles) {
  const FileHandle handle = HandleCodec(ExportId(7), key).seal({false, 1, base::bytes_of("inode")});
  EXPECT_FALSE(HandleCodec(ExportId(8), key).open(handle.view()));
  EXPECT_FALSE(HandleCodec(ExportId(7), {key[0], key[1] ^ 1}).open(handle.view()));
}

TEST(WireHandleTest, a_correctly_signed_unknown_version_is_refused) {
  const HandleCodec codec(ExportId(7), key);
  FileHandle handle = codec.seal({false, 1, base::bytes_of("inode")});
  handle.bytes[0] = std::byte{2};
  base::Bytes signed_bytes(handle.bytes.begin(), handle.bytes.begin() + 8);
  signed_bytes.insert(signed_bytes.end(), handle.bytes.begin() + 16, handle.bytes.begin() + handle.size);
  const std::uint64_t mac = base::siphash24(key, signed_bytes);
  std::memcpy(handle.bytes.data() + 8, &mac, sizeof mac);
  EXPECT_FALSE(codec.open(handle.view()));
  EXPECT_FALSE(HandleCodec::export_of(handle.view()));
}

}  // namespace
}  // namespace braid::vfs
