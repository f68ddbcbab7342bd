#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "io/pipe.h"
#include "tests/unit/xdr/wire.h"

namespace braid::xdr_tests {
namespace {

using xdr::Arena;
using xdr::Decoder;
using xdr::Encoder;
using xdr::Error;

class CodecTest : public testing::Test {
 protected:
  Memory memory_;
  Arena arena_;
};

// One item of every kind, with lengths that need each amount of padding.
const std::string_view every_item =
    "00000001"                    // u32
    "0123456789abcdef"            // u64
    "fffffffe"                    // i32
    "fffffffffffffffd"            // i64
    "00000001"                    // bool
    "61626300"                    // opaque[3]
    "00000005 6162636465 000000"  // opaque<>
    "00000006 666f6f626172 0000"  // string<>
    "00000007 01020304050607 00"  // payload
    "00000000"                    // opaque<> of length 0
    "7fffffff";                   // u32

void expect_every_item(Decoder& in) {
  std::uint32_t u32 = 0;
  std::uint64_t u64 = 0;
  std::int32_t i32 = 0;
  std::int64_t i64 = 0;
  bool flag = false;
  std::array<std::byte, 3> fixed{};
  base::BytesView opaque;
  std::string_view text;
  io::Payload payload;
  ASSERT_TRUE(in.u32(u32) && in.u64(u64) && in.i32(i32) && in.i64(i64) && in.boolean(flag));
  EXPECT_EQ(u32, 1U);
  EXPECT_EQ(u64, 0x0123456789abcdefU);
  EXPECT_EQ(i32, -2);
  EXPECT_EQ(i64, -3);
  EXPECT_TRUE(flag);
  ASSERT_TRUE(in.opaque_fixed(fixed) && in.opaque(opaque, 5) && in.text(text, 6) && in.payload(payload, 7));
  EXPECT_EQ(base::text_of(fixed), "abc");
  EXPECT_EQ(base::text_of(opaque), "abcde");
  EXPECT_EQ(text, "foobar");
  EXPECT_EQ(hex_of(bytes_in(payload)), "01020304050607");
  ASSERT_TRUE(in.opaque(opaque, 5) && in.u32(u32));
  EXPECT_TRUE(opaque.empty());
  EXPECT_EQ(u32, 0x7fffffffU);
  EXPECT_EQ(in.remaining(), 0U);
  EXPECT_TRUE(in.ok());
}

TEST_F(CodecTest, items_are_read_whatever_two_positions_the_message_is_cut_at) {
  const base::Bytes bytes = hex(every_item);
  for (std::size_t first = 0; first <= bytes.size(); ++first) {
    for (std::size_t second = first; second <= bytes.size(); ++second) {
      const io::Payload message = memory_.payload(bytes, {first, second});
      Arena arena;
      Decoder in(message, arena);
      ASSERT_NO_FATAL_FAILURE(expect_every_item(in)) << first << " " << second;
    }
  }
}

TEST_F(CodecTest, items_are_read_from_ranges_of_one_byte) {
  const base::Bytes bytes = hex(every_item);
  std::vector<std::size_t> cuts(bytes.size());
  for (std::size_t i = 0; i < cuts.size(); ++i) cuts[i] = i;
  const io::Payload message = memory_.payload(bytes, cuts);
  Decoder in(message, arena_);
  expect_every_item(in);
}

TEST_F(CodecTest, encoder_writes_what_the_decoder_reads) {
  const io::Payload bulk = memory_.payload(hex("01020304050607"), {2});
  const base::Bytes bytes = memory_.encoded([&](Encoder& out) {
    out.u32(1);
    out.u64(0x0123456789abcdefU);
    out.i32(-2);
    out.i64(-3);
    out.boolean(true);
    out.opaque_fixed(base::bytes_of("abc"));
    out.opaque(base::bytes_of("abcde"));
    out.text("foobar");
    out.payload(bulk);
    out.opaque({});
    out.u32(0x7fffffff);
  });
  EXPECT_EQ(hex_of(bytes), hex_of(hex(every_item)));
}

TEST_F(CodecTest, a_message_that_ends_early_is_truncated_at_every_byte) {
  const base::Bytes bytes = hex(every_item);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const io::Payload message = memory_.payload(base::BytesView(bytes).first(length));
    Arena arena;
    Decoder in(message, arena);
    std::uint32_t u32;
    std::uint64_t u64;
    std::array<std::byte, 3> fixed;
    base::BytesView opaque;
    io::Payload payload;
    const bool all = in.u32(u32) && in.u64(u64) && in.u32(u32) && in.u64(u64) && in.u32(u32) &&
                     in.opaque_fixed(fixed) && in.opaque(opaque, 5) && in.opaque(opaque, 6) &&
                     in.payload(payload, 7) && in.opaque(opaque, 5) && in.u32(u32);
    EXPECT_FALSE(all) << length;
    EXPECT_EQ(in.error(), Error::truncated) << length;
  }
}

TEST_F(CodecTest, a_length_above_the_limit_is_refused_even_if_the_bytes_are_there) {
  const base::Bytes bytes = hex("00000005 6162636465 000000");
  const io::Payload message = memory_.payload(bytes);
  base::BytesView opaque;
  std::string_view text;
  io::Payload payload;
  std::uint32_t count;
  Decoder a(message, arena_);
  EXPECT_FALSE(a.opaque(opaque, 4));
  EXPECT_EQ(a.error(), Error::limit);
  Decoder b(message, arena_);
  EXPECT_FALSE(b.text(text, 4));
  EXPECT_EQ(b.error(), Error::limit);
  Decoder c(message, arena_);
  EXPECT_FALSE(c.payload(payload, 4));
  EXPECT_EQ(c.error(), Error::limit);
  Decoder d(message, arena_);
  EXPECT_FALSE(d.count(count, 4, 1));
  EXPECT_EQ(d.error(), Error::limit);
}

TEST_F(CodecTest, lengths_near_2_to_the_32_are_truncated_not_wrapped) {
  for (const char* length : {"ffffffff", "fffffffe", "fffffffd", "fffffffc", "80000000", "7fffffff"}) {
    const io::Payload message = memory_.payload(hex(std::string(length) + "00000000"));
    base::BytesView opaque;
    io::Payload payload;
    Decoder a(message, arena_);
    EXPECT_FALSE(a.opaque(opaque, 0xffffffff));
    EXPECT_EQ(a.error(), Error::truncated);
    Decoder b(message, arena_);
    EXPECT_FALSE(b.payload(payload, 0xffffffff));
    EXPECT_EQ(b.error(), Error::truncated);
  }
}

TEST_F(CodecTest, a_count_is_compared_with_what_is_left_of_the_message) {
  // 0x40000001 elements of 16 bytes are 16 more than 2^34: a 32-bit product would be 16.
  const io::Payload message = memory_.payload(hex("40000001 00000000 00000000 00000000 00000000"));
  std::uint32_t count;
  Decoder in(message, arena_);
  EXPECT_FALSE(in.count(count, 0xffffffff, 16));
  EXPECT_EQ(in.error(), Error::truncated);
  const io::Payload exact = memory_.payload(hex("00000002 0000000000000000 0000000000000000"));
  Decoder fits(exact, arena_);
  EXPECT_TRUE(fits.count(count, 0xffffffff, 8));
  Decoder too_many(exact, arena_);
  EXPECT_FALSE(too_many.count(count, 0xffffffff, 9));
}

TEST_F(CodecTest, only_0_and_1_are_booleans) {
  for (const char* text : {"00000002", "ffffffff", "01000000"}) {
    const io::Payload message = memory_.payload(hex(text));
    Decoder in(message, arena_);
    bool flag;
    EXPECT_FALSE(in.boolean(flag));
    EXPECT_EQ(in.error(), Error::value);
  }
}

TEST_F(CodecTest, padding_of_any_value_is_skipped_and_zeros_are_sent) {
  const io::Payload message = memory_.payload(hex("00000001 61ffffff 00000002"));
  Decoder in(message, arena_);
  base::BytesView opaque;
  std::uint32_t next = 0;
  ASSERT_TRUE(in.opaque(opaque, 4) && in.u32(next));
  EXPECT_EQ(next, 2U);
  EXPECT_EQ(hex_of(memory_.encoded([](Encoder& out) { out.text("a"); })), "0000000161000000");
}

TEST_F(CodecTest, after_an_error_every_read_fails_and_the_first_error_stays) {
  const io::Payload message = memory_.payload(hex("00000002 00000001 00000000 00000000"));
  Decoder in(message, arena_);
  bool flag;
  std::uint32_t u32;
  std::uint64_t u64;
  base::BytesView opaque;
  ASSERT_FALSE(in.boolean(flag));
  EXPECT_FALSE(in.u32(u32));
  EXPECT_FALSE(in.u64(u64));
  EXPECT_FALSE(in.boolean(flag));
  EXPECT_FALSE(in.opaque(opaque, 100));
  EXPECT_FALSE(in.count(u32, 100, 1));
  EXPECT_EQ(in.error(), Error::value);
  EXPECT_EQ(in.remaining(), 0U);
}

TEST_F(CodecTest, views_point_into_the_message_and_into_the_arena_only_where_it_is_cut) {
  const base::Bytes bytes = hex("00000004 61626364");
  const io::Payload whole = memory_.payload(bytes);
  Decoder in(whole, arena_);
  base::BytesView opaque;
  ASSERT_TRUE(in.opaque(opaque, 4));
  EXPECT_EQ(opaque.data(), whole.ranges()[0].memory().value().data() + 4);
  const io::Payload cut = memory_.payload(bytes, {6});
  Decoder cut_in(cut, arena_);
  ASSERT_TRUE(cut_in.opaque(opaque, 4));
  EXPECT_EQ(base::text_of(opaque), "abcd");
  EXPECT_NE(opaque.data(), cut.ranges()[0].memory().value().data() + 4);
}

TEST_F(CodecTest, payload_shares_the_slabs_of_the_message) {
  const io::Payload message = memory_.payload(hex("00000006 616263646566 0000"), {7});
  Decoder in(message, arena_);
  io::Payload payload;
  ASSERT_TRUE(in.payload(payload, 6));
  ASSERT_EQ(payload.ranges().size(), 2U);
  EXPECT_EQ(payload.ranges()[0].memory().value().data(), message.ranges()[0].memory().value().data() + 4);
  EXPECT_EQ(payload.ranges()[1].memory().value().data(), message.ranges()[1].memory().value().data());
}

TEST_F(CodecTest, bytes_in_a_pipe_are_payload_and_nothing_else) {
  io::PipePool pipes;
  base::UniqueFd file(::memfd_create("piped", MFD_CLOEXEC));
  ASSERT_EQ(::pwrite(file.get(), "abcdefgh", 8, 0), 8);
  const auto message = [&](std::string_view head, std::string_view tail) {
    io::SlabRef pipe = pipes.take().value();
    EXPECT_EQ(pipe.pipe()->fill(file.get(), 0, 8).value(), 8U);
    io::Payload out = memory_.payload(hex(head));
    out.append({std::move(pipe), 0, 8});
    out.append(memory_.payload(hex(tail)));
    return out;
  };
  {
    const io::Payload fitting = message("0000000b 616263", "00000007");
    Decoder in(fitting, arena_);
    io::Payload payload;
    std::uint32_t after = 0;
    ASSERT_TRUE(in.payload(payload, 11));
    EXPECT_EQ(payload.size(), 11U);
    EXPECT_TRUE(payload.piped());
    EXPECT_FALSE(in.u32(after));  // one byte of padding, and three of the word
    EXPECT_EQ(in.error(), Error::truncated);
  }
  for (const std::string_view head : {"0000000b 616263", "00000002 6162", "00000004", ""}) {
    const io::Payload misfit = message(head, "00000000 00000007 00000000");
    Decoder as_opaque(misfit, arena_);
    base::BytesView view;
    std::uint32_t word = 0;
    while (as_opaque.u32(word)) {
    }
    EXPECT_EQ(as_opaque.error(), Error::truncated) << head;
    if (head.empty()) continue;
    Decoder again(misfit, arena_);
    EXPECT_EQ(again.opaque(view, 100) && again.u32(word), false) << head;
  }
}

TEST_F(CodecTest, decoding_starts_at_an_offset_and_knows_its_position) {
  const io::Payload message = memory_.payload(hex("00000000 00000000 0000002a 00000000"), {9});
  Decoder in(message, arena_, 8);
  std::uint32_t u32 = 0;
  EXPECT_EQ(in.position(), 8U);
  ASSERT_TRUE(in.u32(u32));
  EXPECT_EQ(u32, 42U);
  EXPECT_EQ(in.position(), 12U);
  EXPECT_EQ(in.remaining(), 4U);
}

TEST_F(CodecTest, an_offset_behind_the_end_is_truncated) {
  const io::Payload message = memory_.payload(hex("00000000"));
  Decoder in(message, arena_, 5);
  EXPECT_EQ(in.error(), Error::truncated);
}

TEST_F(CodecTest, encoded_bulk_data_is_noted_with_its_place) {
  const io::Payload bulk = memory_.payload(hex("0102030405"));
  Encoder out(memory_.cursor(), 4);
  out.u32(7);
  out.ddp_payload(bulk);
  out.u32(8);
  EXPECT_EQ(out.size(), 24U);
  const xdr::Message message = out.finish();
  ASSERT_EQ(message.item_count, 1U);
  EXPECT_EQ(message.items[0].offset, 12U);
  EXPECT_EQ(message.items[0].length, 5U);
  EXPECT_EQ(hex_of(bytes_in(message.bytes)),
            "00000000"
            "00000007"
            "00000005"
            "0102030405000000"
            "00000008");
  EXPECT_EQ(message.bytes.slice(12, 5).ranges()[0].memory().value().data(),
            bulk.ranges()[0].memory().value().data());
}

TEST_F(CodecTest, eligible_data_comes_apart_from_its_message_or_within_it) {
  const io::Payload message = memory_.payload(hex("0000000500000002aabb00000000000361626300"));
  const std::array<io::Payload, 2> apart{memory_.payload(hex("0102030405")), io::Payload()};
  Decoder in(message, arena_);
  in.set_apart(apart);
  io::Payload first;
  io::Payload second;
  std::string_view third;
  ASSERT_TRUE(in.ddp_payload(first, 5));
  ASSERT_TRUE(in.ddp_payload(second, 2));
  ASSERT_TRUE(in.ddp_text(third, 3));
  EXPECT_EQ(first.ranges()[0].memory().value().data(), apart[0].ranges()[0].memory().value().data());
  EXPECT_EQ(bytes_in(second), hex("aabb"));
  EXPECT_EQ(third, "abc");
  EXPECT_EQ(in.remaining(), 0U);
}

TEST_F(CodecTest, text_that_came_apart_is_one_view) {
  const io::Payload message = memory_.payload(hex("00000004"));
  io::Payload pieces = memory_.payload(hex("6162"));
  pieces.append(memory_.payload(hex("6364")));
  Decoder in(message, arena_);
  in.set_apart({&pieces, 1});
  std::string_view text;
  ASSERT_TRUE(in.ddp_text(text, 4));
  EXPECT_EQ(text, "abcd");
}

TEST_F(CodecTest, data_that_came_apart_is_as_long_as_its_message_says) {
  const io::Payload apart = memory_.payload(hex("010203"));
  for (const auto& [length, limit, error] :
       {std::tuple{"00000002", 3U, Error::value}, std::tuple{"00000004", 9U, Error::value},
        std::tuple{"00000003", 2U, Error::limit}, std::tuple{"", 9U, Error::truncated}}) {
    const io::Payload message = memory_.payload(hex(length));
    io::Payload data;
    std::string_view text;
    Decoder in(message, arena_);
    in.set_apart({&apart, 1});
    EXPECT_FALSE(in.ddp_payload(data, limit));
    EXPECT_EQ(in.error(), error) << length;
    Decoder again(message, arena_);
    again.set_apart({&apart, 1});
    EXPECT_FALSE(again.ddp_text(text, limit));
  }
}

TEST_F(CodecTest, what_is_not_eligible_is_not_noted_and_what_is_empty_is) {
  Encoder out(memory_.cursor());
  out.payload(memory_.payload(hex("0102")));
  out.ddp_text("abcde");
  out.ddp_payload({});
  const xdr::Message message = out.finish();
  ASSERT_EQ(message.item_count, 2U);
  EXPECT_EQ(message.items[0].offset, 12U);
  EXPECT_EQ(message.items[0].length, 5U);
  EXPECT_EQ(message.items[1].offset, 24U);
  EXPECT_EQ(message.items[1].length, 0U);
}

TEST_F(CodecTest, what_was_left_blank_is_filled_in_later) {
  Encoder out(memory_.cursor(), 4);
  const Encoder::Blank count = out.blank_u32();
  // Another one carves between the pieces of this one.
  Encoder other(memory_.cursor());
  other.u32(5);
  out.opaque_fixed(base::Bytes(3000, std::byte{7}));
  count.fill(1);
  out.ddp_payload(memory_.payload(hex("aabb")));
  EXPECT_EQ(out.written().size(), 4U + 4 + 3000 + 8);
  out.u32(9);
  count.fill(2);
  const base::Bytes bytes = bytes_in(out.finish().bytes);
  ASSERT_EQ(bytes.size(), 4U + 4 + 3000 + 8 + 4);
  EXPECT_EQ(hex_of(base::BytesView(bytes).first(12)),
            "00000000"
            "00000002"
            "07070707");
  EXPECT_EQ(hex_of(base::BytesView(bytes).last(12)),
            "00000002"
            "aabb0000"
            "00000009");
  EXPECT_EQ(hex_of(bytes_in(other.finish().bytes)), "00000005");
}

TEST_F(CodecTest, appended_message_keeps_its_bytes_and_the_places_of_its_bulk_data) {
  io::SlabCursor other(memory_.cursor().pool());
  const io::Payload bulk = memory_.payload(base::Bytes(3001, std::byte{9}));
  Encoder inner(other);
  inner.u32(1);
  inner.ddp_payload(bulk);
  inner.u32(2);
  const xdr::Message part = inner.finish();
  Encoder out(memory_.cursor(), 4);
  out.ddp_payload(memory_.payload(hex("aabb")));
  out.append(part);
  out.u32(3);
  const xdr::Message whole = out.finish();
  const base::Bytes bytes = bytes_in(whole.bytes);
  ASSERT_EQ(whole.item_count, 2U);
  EXPECT_EQ(whole.items[1].offset, 4U + 8 + 8);
  EXPECT_EQ(whole.items[1].length, 3001U);
  EXPECT_EQ(hex_of(base::BytesView(bytes).first(24)),
            "00000000"
            "00000002"
            "aabb0000"
            "00000001"
            "00000bb9"
            "09090909");
  EXPECT_EQ(hex_of(base::BytesView(bytes).last(12)),
            "09000000"
            "00000002"
            "00000003");
  // Long data is shared, not copied.
  EXPECT_EQ(whole.bytes.slice(20, 3001).ranges()[0].memory().value().data(),
            bulk.ranges()[0].memory().value().data());
}

TEST_F(CodecTest, opaque_data_larger_than_a_slab_is_encoded_whole) {
  for (const std::size_t size :
       {std::size_t{1023}, std::size_t{65536}, std::size_t{65537}, std::size_t{200001}}) {
    base::Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7);
    const base::Bytes wire = memory_.encoded([&](Encoder& out) { out.opaque(bytes); });
    ASSERT_EQ(wire.size(), 4 + (size + 3) / 4 * 4);
    const io::Payload message = memory_.payload(wire);
    Arena arena;
    Decoder in(message, arena);
    base::BytesView back;
    ASSERT_TRUE(in.opaque(back, 1U << 20));
    EXPECT_TRUE(base::equal(back, bytes));
  }
}

TEST_F(CodecTest, an_encoder_without_memory_says_so_and_writes_nothing_more) {
  io::SlabPool pool({.bytes_max = io::region_bytes});
  io::SlabCursor cursor(pool);
  Encoder out(cursor);
  const base::Bytes block(64 * base::KiB);
  for (int i = 0; i < 100; ++i) out.opaque(block);
  EXPECT_FALSE(out.ok());
  const std::size_t size = out.size();
  out.u32(1);
  out.u64(1);
  EXPECT_EQ(out.size(), size);
}

TEST_F(CodecTest, a_finished_encoder_is_empty) {
  Encoder out(memory_.cursor());
  out.u32(1);
  EXPECT_EQ(hex_of(bytes_in(out.finish().bytes)), "00000001");
  out.u32(2);
  EXPECT_EQ(hex_of(bytes_in(out.finish().bytes)), "00000002");
}

TEST_F(CodecTest, the_arena_refuses_more_than_its_limit) {
  Arena small(100);
  const base::Bytes bytes = hex("00000060" + std::string(192, '1'));  // 96 bytes
  const io::Payload message = memory_.payload(bytes, {50});
  base::BytesView opaque;
  Decoder first(message, small);
  EXPECT_TRUE(first.opaque(opaque, 1000));
  Decoder second(message, small);
  EXPECT_FALSE(second.opaque(opaque, 1000));
  EXPECT_EQ(second.error(), Error::memory);
}

TEST_F(CodecTest, arena_objects_are_aligned_and_zero) {
  bool fits;
  for (int i = 0; i < 200; ++i) {
    auto bytes = arena_.make<std::byte>(static_cast<std::size_t>(i % 7) + 1, fits);
    ASSERT_TRUE(fits);
    std::ranges::fill(bytes, std::byte{0xff});
    auto numbers = arena_.make<std::uint64_t>(3, fits);
    ASSERT_TRUE(fits);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(numbers.data()) % alignof(std::uint64_t), 0U);
    for (const std::uint64_t number : numbers) EXPECT_EQ(number, 0U);
    std::ranges::fill(numbers, ~std::uint64_t{0});
  }
}

}  // namespace
}  // namespace braid::xdr_tests
