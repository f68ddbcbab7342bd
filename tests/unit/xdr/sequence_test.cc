#include "xdr/sequence.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/xdr/wire.h"

namespace braid::xdr_tests {
namespace {

using xdr::Arena;
using xdr::Decoder;
using xdr::Error;

// A linked list of `count` numbers 0, 1, ... on the wire.
base::Bytes list_of(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += "00000001";
    const auto low = static_cast<std::uint16_t>(i);
    text += "0000" + hex_of(std::array{static_cast<std::byte>(low >> 8), static_cast<std::byte>(low & 0xff)});
  }
  return hex(text + "00000000");
}

class SequenceTest : public testing::Test {
 protected:
  bool decode_list(const io::Payload& message, Arena& arena, std::span<const std::uint32_t>& out,
                   std::uint32_t limit, Error& error) {
    Decoder in(message, arena);
    const bool ok = xdr::decode_list(in, out, limit, 4, [&in](std::uint32_t& item) { return in.u32(item); });
    error = in.error();
    return ok && in.remaining() == 0;
  }
  Memory memory_;
};

TEST_F(SequenceTest, lists_of_every_length_up_to_the_limit_are_decoded) {
  for (std::size_t count = 0; count <= 300; ++count) {
    const io::Payload message = memory_.payload(list_of(count));
    Arena arena;
    std::span<const std::uint32_t> out;
    Error error;
    ASSERT_TRUE(decode_list(message, arena, out, 300, error)) << count;
    ASSERT_EQ(out.size(), count);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(out[i], i);
  }
}

TEST_F(SequenceTest, a_list_longer_than_the_limit_is_refused) {
  const io::Payload message = memory_.payload(list_of(301));
  Arena arena;
  std::span<const std::uint32_t> out;
  Error error;
  EXPECT_FALSE(decode_list(message, arena, out, 300, error));
  EXPECT_EQ(error, Error::limit);
}

TEST_F(SequenceTest, a_list_is_truncated_at_every_byte) {
  const base::Bytes bytes = list_of(20);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const io::Payload message = memory_.payload(base::BytesView(bytes).first(length));
    Arena arena;
    std::span<const std::uint32_t> out;
    Error error;
    EXPECT_FALSE(decode_list(message, arena, out, 300, error)) << length;
    EXPECT_EQ(error, Error::truncated) << length;
  }
}

TEST_F(SequenceTest, a_mark_that_is_no_boolean_ends_the_list_with_an_error) {
  const io::Payload message = memory_.payload(hex("00000001 00000007 00000002"));
  Arena arena;
  std::span<const std::uint32_t> out;
  Error error;
  EXPECT_FALSE(decode_list(message, arena, out, 300, error));
  EXPECT_EQ(error, Error::value);
}

TEST_F(SequenceTest, a_list_takes_no_more_than_three_times_its_size_from_the_arena) {
  constexpr std::size_t count = 5000;
  const io::Payload message = memory_.payload(list_of(count));
  Arena enough(3 * count * sizeof(std::uint32_t));
  Arena too_small(count * sizeof(std::uint32_t) - 1);
  std::span<const std::uint32_t> out;
  Error error;
  EXPECT_TRUE(decode_list(message, enough, out, 65536, error));
  EXPECT_FALSE(decode_list(message, too_small, out, 65536, error));
  EXPECT_EQ(error, Error::memory);
}

TEST_F(SequenceTest, a_count_that_the_message_cannot_hold_takes_nothing_from_the_arena) {
  const io::Payload message = memory_.payload(hex("00ffffff 00000001 00000002"));
  Arena arena(16);
  Decoder in(message, arena);
  std::span<const std::uint32_t> out;
  EXPECT_FALSE(
      xdr::decode_array(in, out, 0xffffffff, 4, [&in](std::uint32_t& item) { return in.u32(item); }));
  EXPECT_EQ(in.error(), Error::truncated);
  bool fits;
  (void)arena.make<std::byte>(16, fits);
  EXPECT_TRUE(fits);
}

TEST_F(SequenceTest, payloads_are_compared_by_their_bytes_not_their_cuts) {
  const base::Bytes bytes = hex("0102030405060708");
  for (std::size_t a = 0; a <= bytes.size(); ++a) {
    for (std::size_t b = 0; b <= bytes.size(); ++b)
      EXPECT_TRUE(xdr::same_bytes(memory_.payload(bytes, {a}), memory_.payload(bytes, {b})));
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    base::Bytes other = bytes;
    other[i] ^= std::byte{1};
    EXPECT_FALSE(xdr::same_bytes(memory_.payload(bytes, {3}), memory_.payload(other, {5})));
  }
  EXPECT_FALSE(xdr::same_bytes(memory_.payload(bytes), memory_.payload(base::BytesView(bytes).first(7))));
  EXPECT_TRUE(xdr::same_bytes(io::Payload(), io::Payload()));
}

}  // namespace
}  // namespace braid::xdr_tests
