// The C++ that comes out of sample/constructs.x: types, bytes, errors.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <type_traits>

#include "tests/unit/xdr/sample/constructs.x.h"
#include "tests/unit/xdr/wire.h"

namespace braid::xdr_tests {
namespace {

using namespace sample;
using xdr::Error;

static_assert(TEN == 10 && HEXADECIMAL == 255 && OCTAL == 15 && ALIAS == 10);
static_assert(NEGATIVE == -5 && std::is_same_v<decltype(NEGATIVE), const std::int32_t>);
static_assert(WIDE == 0x1FFFFFFFF && std::is_same_v<decltype(WIDE), const std::uint64_t>);
static_assert(LOWEST == std::numeric_limits<std::int64_t>::min());
static_assert(HIGHEST == std::numeric_limits<std::uint64_t>::max());

static_assert(std::is_same_v<std::underlying_type_t<colour>, std::int32_t>);
static_assert(std::is_same_v<std::underlying_type_t<flags>, std::uint32_t>);
static_assert(static_cast<std::int32_t>(colour::BLUE) == -5 && colour::CRIMSON == colour::RED);

static_assert(std::is_aggregate_v<numbers> && std::is_aggregate_v<bulk> && std::is_aggregate_v<page>);
static_assert(std::is_same_v<decltype(bytes::fixed), std::array<std::byte, 5>>);
static_assert(std::is_same_v<decltype(bytes::variable), base::BytesView>);
static_assert(std::is_same_v<decltype(bytes::text), std::string_view>);
static_assert(std::is_same_v<decltype(bulk::data), io::Payload>);
static_assert(std::is_same_v<decltype(arrays::points), std::span<const point>>);
static_assert(std::is_same_v<decltype(optionals::record), std::optional<bytes>>);
static_assert(std::is_same_v<lines, std::span<const line>>);
static_assert(std::is_same_v<decltype(by_colour::body), std::variant<std::int32_t, std::int32_t>>);
static_assert(std::is_same_v<decltype(outer::inner), outer_inner>);
static_assert(std::is_trivially_copyable_v<arrays> && std::is_trivially_destructible_v<by_unsigned>);

static_assert(numbers::encoded_bytes_max == 52);
static_assert(bytes::encoded_bytes_max == 8 + (4 + 12) + (4 + 256) + (4 + 4) + (4 + 8));
static_assert(bulk::encoded_bytes_max == 4 + (4 + 100000) + 4);
static_assert(page::encoded_bytes_max == 3 * 4 + (5 + 2 + 10) * (4 + line::encoded_bytes_max) + 2 * 4);
static_assert(by_bool::encoded_bytes_max == 4 + 4 + 12);

static_assert(SAMPLE_PROGRAM == 0x20000001 && SAMPLE_V1 == 1 && SAMPLE_V2 == 2);
static_assert(static_cast<std::uint32_t>(SAMPLE_V2_procedure::SAMPLE2_LINES) == 5);

class Constructs : public testing::Test {
 protected:
  template <class T>
  std::string wire(const T& value) {
    return hex_of(memory_.encoded([&](xdr::Encoder& out) { encode(out, value); }));
  }
  // Decodes all of `text` into `out`.
  template <class T>
  Error read(T& out, std::string_view text) {
    message_ = memory_.payload(hex(text));
    xdr::Decoder in(message_, arena_);
    const bool whole = decode(in, out);
    EXPECT_EQ(whole, in.ok());
    EXPECT_TRUE(!whole || in.remaining() == 0);
    return in.error();
  }
  Memory memory_;
  io::Payload message_;
  xdr::Arena arena_;
};

TEST_F(Constructs, enums_are_signed_or_unsigned_numbers_that_the_file_names) {
  EXPECT_EQ(wire(colour::BLUE), "fffffffb");
  EXPECT_EQ(wire(flags::HIGH), "80000000");
  colour tint{};
  EXPECT_EQ(read(tint, "fffffffb"), Error::none);
  EXPECT_EQ(tint, colour::BLUE);
  EXPECT_EQ(read(tint, "00000001"), Error::value);
  flags bits{};
  EXPECT_EQ(read(bits, "80000000"), Error::none);
  EXPECT_EQ(bits, flags::HIGH);
  EXPECT_EQ(read(bits, "00000000"), Error::value);
}

TEST_F(Constructs, enumerators_have_names_and_other_values_are_unknown) {
  EXPECT_EQ(name_of(colour::BLUE), "BLUE");
  EXPECT_EQ(name_of(colour::CRIMSON), "RED");
  EXPECT_EQ(name_of(flags::HIGH), "HIGH");
  EXPECT_EQ(name_of(keywords::new_), "new");
  EXPECT_EQ(name_of(SAMPLE_V1_procedure::SAMPLE1_ADD), "SAMPLE1_ADD");
  EXPECT_EQ(name_of(static_cast<flags>(2)), "unknown");
}

TEST_F(Constructs, members_follow_each_other_in_the_order_of_the_file) {
  const forward value{.first = {.a = -1,
                                .b = 2,
                                .c = 3,
                                .d = -4,
                                .e = 5,
                                .f = 1.0F,
                                .g = -2.0,
                                .h = true,
                                .i = colour::GREEN,
                                .j = flags::LOW},
                      .second = colour::BLUE};
  EXPECT_EQ(wire(value),
            "ffffffff"
            "00000002"
            "00000003"
            "fffffffffffffffc"
            "0000000000000005"
            "3f800000"
            "c000000000000000"
            "00000001"
            "0000000a"
            "00000001"
            "fffffffb");
}

TEST_F(Constructs, variable_data_above_its_limit_is_refused) {
  bytes value;
  EXPECT_EQ(read(value, "3132333435000000 00000000 00000000 00000000 00000008 6162636465666768"),
            Error::none);
  EXPECT_EQ(value.text, "abcdefgh");
  EXPECT_EQ(read(value, "3132333435000000 0000000b"), Error::limit);                    // <TEN>
  EXPECT_EQ(read(value, "3132333435000000 00000000 00000100"), Error::limit);           // max(0xFF)
  EXPECT_EQ(read(value, "3132333435000000 00000000 00000000 00000005"), Error::limit);  // <TEN>, max(4)
  EXPECT_EQ(read(value, "3132333435000000 00000000 00000000 00000000 00000009"), Error::limit);  // <8>
}

TEST_F(Constructs, payload_is_coded_like_opaque_data) {
  const bulk value{.before = 1, .data = memory_.payload(base::bytes_of("abcde"), {2}), .after = 2};
  EXPECT_EQ(wire(value),
            "00000001"
            "00000005"
            "6162636465000000"
            "00000002");
  EXPECT_EQ(encoded_size(value), 20U);
  bulk back;
  ASSERT_EQ(read(back, wire(value)), Error::none);
  EXPECT_TRUE(back == value);
  EXPECT_EQ(read(back, "00000001 000186a1"), Error::limit);
}

TEST_F(Constructs, optional_data_is_a_boolean_and_the_value) {
  optionals value{.number = -1, .text = "ab", .place = point{1, 2}};
  value.tint = colour::RED;
  EXPECT_EQ(wire(value),
            "00000001ffffffff"
            "00000001"
            "0000000261620000"
            "00000001"
            "0000000100000002"
            "00000000"
            "00000000"
            "0000000100000000");
  optionals back;
  back.raw = base::bytes_of("old");
  ASSERT_EQ(read(back, wire(value)), Error::none);
  EXPECT_FALSE(back.raw);
  EXPECT_TRUE(back == value);
  EXPECT_EQ(read(back, "00000002"), Error::value);
}

TEST_F(Constructs, linked_lists_mark_every_element_and_their_end) {
  const std::array<word, 2> words{word{.letters = "a"}, word{.letters = "b"}};
  const std::array<line, 2> all{line{.number = 7, .words = words}, line{.number = 8, .words = {}}};
  const page value{.all = all, .more = {}, .parts = {}};
  const std::string text =
      "00000001"
      "00000007"
      "00000001"
      "0000000161000000"
      "00000001"
      "0000000162000000"
      "00000000"
      "00000001"
      "00000008"
      "00000000"
      "00000000"
      "00000000"
      "00000000";
  EXPECT_EQ(wire(value), text);
  page back;
  ASSERT_EQ(read(back, text), Error::none);
  ASSERT_EQ(back.all.size(), 2U);
  EXPECT_EQ(back.all[0].words[1].letters, "b");
  EXPECT_TRUE(back == value);
}

TEST_F(Constructs, a_list_above_its_limit_is_refused) {
  page value;
  const std::string one = "00000001 00000000 00000000";
  EXPECT_EQ(read(value, "00000000" + one + one + "00000000 00000000"), Error::none);
  EXPECT_EQ(read(value, "00000000" + one + one + one + "00000000 00000000"), Error::limit);
}

TEST_F(Constructs, an_array_above_its_limit_is_refused) {
  imported value;
  EXPECT_EQ(read(value, "00000001 00000001 0000000100000002 00000000"), Error::none);
  EXPECT_EQ(value.corners[0].y, 2);
  EXPECT_EQ(read(value, "00000001 00000005" + std::string(80, '0') + "00000000"), Error::limit);
  EXPECT_EQ(read(value, "00000001 00000004 00000000"), Error::truncated);
}

TEST_F(Constructs, the_discriminant_chooses_the_arm_even_among_arms_of_one_type) {
  by_colour value;
  ASSERT_EQ(read(value, "0000000a 00000005"), Error::none);
  EXPECT_EQ(value.which, colour::GREEN);
  ASSERT_NE(value.number(), nullptr);
  EXPECT_EQ(*value.number(), 5);
  EXPECT_EQ(value.other_number(), nullptr);
  ASSERT_EQ(read(value, "fffffffb 00000006"), Error::none);
  EXPECT_EQ(value.number(), nullptr);
  EXPECT_EQ(*value.other_number(), 6);
  EXPECT_FALSE(by_colour::with_number(colour::RED, 1) == by_colour::with_number(colour::GREEN, 1));
}

TEST_F(Constructs, a_discriminant_without_arm_is_an_error_unless_there_is_a_default) {
  by_unsigned none;
  EXPECT_EQ(read(none, "00000001"), Error::value);
  by_colour no_such_colour;
  EXPECT_EQ(read(no_such_colour, "00000001 00000005"), Error::value);
  by_bool no_boolean;
  EXPECT_EQ(read(no_boolean, "00000002"), Error::value);
  by_int otherwise;
  ASSERT_EQ(read(otherwise, "00000063 61626364"), Error::none);
  EXPECT_EQ(otherwise.n, 99);
  ASSERT_NE(otherwise.raw(), nullptr);
  EXPECT_EQ(base::text_of(*otherwise.raw()), "abcd");
}

TEST_F(Constructs, factories_set_discriminant_and_body_together) {
  EXPECT_EQ(wire(by_bool::with_text("ab")),
            "00000001"
            "0000000261620000");
  EXPECT_EQ(wire(by_bool::with_FALSE()), "00000000");
  EXPECT_EQ(wire(by_int::with_1()), "00000001");
  EXPECT_EQ(wire(by_int::with_wide(-1)), "fffffffeffffffffffffffff");
  EXPECT_EQ(wire(by_int::with_raw(7, {std::byte{1}})), "0000000701000000");
  EXPECT_EQ(wire(by_unsigned::with_flag(true)), "ffffffff00000001");
  EXPECT_EQ(wire(by_choice::with_default(choices::THIRD)), "00000003");
  EXPECT_EQ(wire(reply::with_sides({.left = 1, .right = 2})),
            "00000001"
            "0000000100000002");
}

TEST_F(Constructs, fresh_unions_hold_what_their_discriminant_says) {
  EXPECT_EQ(wire(by_bool{}), "00000000");
  EXPECT_EQ(wire(by_colour{}), "0000000000000000");
  EXPECT_EQ(wire(by_int{}), "0000000000000000");
  EXPECT_EQ(wire(by_choice{}), "00000001");
  EXPECT_EQ(wire(by_unsigned{}), "ffffffff00000000");
}

TEST_F(Constructs, a_body_of_another_discriminant_is_our_own_bug) {
  by_bool value = by_bool::with_text("ab");
  value.set = false;
  EXPECT_DEATH((void)wire(value), "by_bool: the body is not that of the discriminant");
  EXPECT_DEATH((void)by_choice::with_default(choices::SECOND), "by_choice: not a discriminant of this arm");
  EXPECT_DEATH((void)by_colour::with_number(colour::BLUE, 1), "by_colour: not a discriminant of this arm");
}

TEST_F(Constructs, aliases_of_data_have_functions_of_their_own) {
  const std::array<line, 1> all{line{.number = 7, .words = {}}};
  const base::Bytes bytes = memory_.encoded([&](xdr::Encoder& out) { encode_lines(out, all); });
  EXPECT_EQ(hex_of(bytes),
            "00000001"
            "00000007"
            "00000000"
            "00000000");
  EXPECT_EQ(encoded_size_lines(all), bytes.size());
  const io::Payload message = memory_.payload(bytes);
  xdr::Decoder in(message, arena_);
  lines back;
  ASSERT_TRUE(decode_lines(in, back));
  EXPECT_EQ(back[0].number, 7U);
  const io::Payload long_label = memory_.payload(hex("0000000d" + std::string(32, '6')));
  xdr::Decoder refused(long_label, arena_);
  label text;
  EXPECT_FALSE(decode_label(refused, text));
  EXPECT_EQ(refused.error(), Error::limit);
}

TEST_F(Constructs, small_messages_in_one_piece_take_nothing_from_the_arena) {
  xdr::Arena empty(0);
  const bytes value{.variable = base::bytes_of("abc"), .text = "text"};
  const io::Payload message =
      memory_.payload(memory_.encoded([&](xdr::Encoder& out) { encode(out, value); }));
  xdr::Decoder in(message, empty);
  bytes back;
  EXPECT_TRUE(decode(in, back));
  EXPECT_TRUE(back == value);
}

TEST_F(Constructs, names_that_were_taken_are_usable_with_an_underscore) {
  const class_ value{.delete_ = 1, .namespace_ = "ns", .operator_ = {2, 3}};
  EXPECT_EQ(wire(value),
            "00000001"
            "000000026e730000"
            "0000000200000003");
  const hiding hidden{.colour = colour::GREEN, .class_ = value};
  EXPECT_EQ(wire(hidden), "0000000a" + wire(value));
  EXPECT_EQ(wire(template_::with_body(4)), "0000000100000004");
}

}  // namespace
}  // namespace braid::xdr_tests
