// Every type of every protocol against messages that were made from its .x file.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/unit/xdr/protocol_types.h"
#include "tests/unit/xdr/random_wire.h"
#include "tests/unit/xdr/wire.h"

namespace braid::xdr_tests {
namespace {

constexpr int rounds = 60;

class RoundTrip : public testing::TestWithParam<const char*> {
 protected:
  // Cuts at up to four random positions.
  io::Payload cut(base::BytesView bytes, RandomWire& random) {
    std::vector<std::size_t> cuts;
    for (std::uint32_t i = random.below(5); i > 0; --i)
      cuts.push_back(random.below(static_cast<std::uint32_t>(bytes.size()) + 1));
    std::ranges::sort(cuts);
    return memory_.payload(bytes, cuts);
  }
  const xdrc::Schema schema_ = schema_of(GetParam());
  Memory memory_;
};

TEST_P(RoundTrip, the_table_of_types_is_complete) {
  std::set<std::string> in_file;
  for (const xdrc::Definition* type : schema_.types) {
    if (!std::holds_alternative<xdrc::Typedef>(type->body)) in_file.insert(type->name);
  }
  std::set<std::string> in_table;
  for (const ProtocolType& type : types_of(GetParam())) in_table.insert(type.name);
  EXPECT_EQ(in_table, in_file);
}

TEST_P(RoundTrip, what_is_decoded_encodes_to_the_same_bytes) {
  RandomWire random(schema_, 1);
  for (const ProtocolType& type : types_of(GetParam())) {
    for (int i = 0; i < rounds; ++i) {
      const base::Bytes bytes = random.message(type.name);
      const io::Payload message = cut(bytes, random);
      xdr::Arena arena;
      xdr::Decoder in(message, arena);
      const auto value = type.make();
      ASSERT_TRUE(value->decode_from(in)) << type.name << " " << hex_of(bytes);
      ASSERT_EQ(in.remaining(), 0U) << type.name << " " << hex_of(bytes);
      const base::Bytes back = memory_.encoded([&](xdr::Encoder& out) { value->encode_to(out); });
      ASSERT_EQ(hex_of(back), hex_of(bytes)) << type.name;
      ASSERT_EQ(value->size(), bytes.size()) << type.name << " " << hex_of(bytes);
      ASSERT_LE(bytes.size(), value->size_max()) << type.name;
    }
  }
}

TEST_P(RoundTrip, values_are_equal_exactly_if_their_bytes_are) {
  RandomWire random(schema_, 2);
  for (const ProtocolType& type : types_of(GetParam())) {
    for (int i = 0; i < rounds; ++i) {
      const base::Bytes bytes = random.message(type.name);
      const base::Bytes others = random.message(type.name);
      const io::Payload first = cut(bytes, random);
      const io::Payload again = cut(bytes, random);
      const io::Payload other = cut(others, random);
      xdr::Arena arena;
      xdr::Decoder in_first(first, arena);
      xdr::Decoder in_again(again, arena);
      xdr::Decoder in_other(other, arena);
      const auto a = type.make();
      const auto b = type.make();
      const auto c = type.make();
      ASSERT_TRUE(a->decode_from(in_first) && b->decode_from(in_again) && c->decode_from(in_other))
          << type.name;
      ASSERT_TRUE(a->equals(*b)) << type.name << " " << hex_of(bytes);
      ASSERT_EQ(a->equals(*c), bytes == others) << type.name << " " << hex_of(bytes) << " " << hex_of(others);
    }
  }
}

TEST_P(RoundTrip, a_message_without_its_end_is_truncated) {
  RandomWire random(schema_, 3);
  for (const ProtocolType& type : types_of(GetParam())) {
    for (int i = 0; i < 4; ++i) {
      const base::Bytes bytes = random.message(type.name);
      const std::size_t step = bytes.size() > 400 ? 1 + bytes.size() / 200 : 1;
      for (std::size_t length = 0; length < bytes.size(); length += step) {
        const io::Payload message = memory_.payload(base::BytesView(bytes).first(length));
        xdr::Arena arena;
        xdr::Decoder in(message, arena);
        ASSERT_FALSE(type.make()->decode_from(in)) << type.name << " " << length << " " << hex_of(bytes);
        ASSERT_EQ(in.error(), xdr::Error::truncated) << type.name << " " << length << " " << hex_of(bytes);
      }
    }
  }
}

TEST_P(RoundTrip, damaged_messages_are_refused_or_mean_something_that_encodes_again) {
  RandomWire random(schema_, 4);
  for (const ProtocolType& type : types_of(GetParam())) {
    for (int i = 0; i < rounds; ++i) {
      base::Bytes bytes = random.message(type.name);
      const std::uint32_t at = random.below(static_cast<std::uint32_t>(bytes.size()));
      // Small, large and all-ones values in places where lengths and discriminants are likely.
      bytes[at] = random.below(2) == 0 ? std::byte{0xff} : static_cast<std::byte>(random.below(256));
      const io::Payload message = cut(bytes, random);
      xdr::Arena arena;
      xdr::Decoder in(message, arena);
      const auto value = type.make();
      if (!value->decode_from(in)) {
        ASSERT_NE(in.error(), xdr::Error::none) << type.name << " " << hex_of(bytes);
        continue;
      }
      const base::Bytes back = memory_.encoded([&](xdr::Encoder& out) { value->encode_to(out); });
      ASSERT_EQ(back.size(), value->size()) << type.name;
      ASSERT_EQ(back.size() + in.remaining(), bytes.size()) << type.name << " " << hex_of(bytes);
    }
  }
}

TEST_P(RoundTrip, the_body_of_a_fresh_value_fits_its_discriminant) {
  for (const ProtocolType& type : types_of(GetParam())) {
    const auto value = type.make();
    if (std::holds_alternative<xdrc::Enum>(schema_.find(type.name)->definition->body)) continue;
    const base::Bytes bytes = memory_.encoded([&](xdr::Encoder& out) { value->encode_to(out); });
    EXPECT_EQ(bytes.size(), value->size()) << type.name;
  }
}

INSTANTIATE_TEST_SUITE_P(protocols, RoundTrip,
                         testing::Values("nfs3/nfs3.x", "nfs3/mount3.x", "rpc/rpc_msg.x",
                                         "tests/unit/xdr/sample/constructs.x"),
                         [](const auto& one) {
                           const std::string name = one.param;
                           const std::size_t from = name.rfind('/') + 1;
                           return name.substr(from, name.find('.') - from);
                         });

}  // namespace
}  // namespace braid::xdr_tests
