#include "pnfs/control_session.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string_view>

#include "io/slab.h"

namespace braid::pnfs {
namespace {

using enum control_role;

constexpr std::uint64_t session_id = 77;

TEST(SequenceWindowTest, takes_each_number_once_in_any_order_within_its_width) {
  SequenceWindow window;
  EXPECT_FALSE(window.take(0));
  for (const std::uint64_t number : {5ULL, 1ULL, 4ULL, 300ULL, 299ULL, 45ULL}) {
    EXPECT_TRUE(window.take(number)) << number;
    EXPECT_FALSE(window.take(number)) << number;
  }
  EXPECT_FALSE(window.take(44)) << "too far behind";
  EXPECT_TRUE(window.take(46));
}

TEST(SequenceWindowTest, a_jump_forgets_what_is_too_far_behind_and_nothing_else) {
  SequenceWindow window;
  for (std::uint64_t number = 1; number <= 1000; ++number) EXPECT_TRUE(window.take(number));
  for (std::uint64_t number = 1; number <= 1000; ++number) EXPECT_FALSE(window.take(number)) << number;
  EXPECT_TRUE(window.take(1000 + SequenceWindow::width - 1));
  EXPECT_FALSE(window.take(1000));
  EXPECT_TRUE(window.take(1001));
  EXPECT_TRUE(window.take(~std::uint64_t{0}));
  EXPECT_TRUE(window.take(~std::uint64_t{0} - 1));
  EXPECT_FALSE(window.take(5000));
}

class ControlSessionTest : public testing::Test {
 protected:
  static hashing::Key key_of(std::uint8_t first) {
    std::array<std::byte, hashing::key_bytes> bytes{};
    bytes[0] = std::byte{first};
    return hashing::Key(bytes);
  }
  io::Payload bulk(std::string_view text) {
    io::SlabRange range = cursor_.carve(text.size()).value();
    std::memcpy(range.writable().data(), text.data(), text.size());
    return io::Payload(std::move(range));
  }

  io::SlabPool pool_{{}};
  io::SlabCursor cursor_{pool_};
  ControlSession metadata_{key_of(1), session_id, ROLE_METADATA, false};
  ControlSession data_{key_of(1), session_id, ROLE_DATA, false};
  const base::Bytes body_ = base::Bytes(10, std::byte{3});
};

TEST_F(ControlSessionTest, a_call_and_its_reply_are_taken_once) {
  const control_sealed call = data_.seal_call(body_);
  EXPECT_EQ(call.sequence, 1U);
  EXPECT_TRUE(metadata_.open_call(call));
  EXPECT_EQ(metadata_.open_call(call), base::fail(SealFault::repeated));
  EXPECT_TRUE(data_.open_reply(call.sequence, metadata_.seal_reply(call.sequence, body_)));
  EXPECT_EQ(data_.seal_call(body_).sequence, 2U);
}

TEST_F(ControlSessionTest, nothing_of_a_message_may_change) {
  const control_sealed call = data_.seal_call(body_);
  const auto refused = [&](auto change) {
    control_sealed other = call;
    change(other);
    return metadata_.open_call(other) == base::fail(SealFault::forged);
  };
  EXPECT_TRUE(refused([](control_sealed& m) { ++m.session; }));
  EXPECT_TRUE(refused([](control_sealed& m) { ++m.sequence; }));
  EXPECT_TRUE(refused([](control_sealed& m) { m.mac[15] ^= std::byte{1}; }));
  EXPECT_TRUE(refused([&](control_sealed& m) { m.body = m.body.first(9); }));
  base::Bytes changed = body_;
  changed[4] = {};
  EXPECT_TRUE(refused([&](control_sealed& m) { m.body = changed; }));
  EXPECT_TRUE(metadata_.open_call(call)) << "a forgery uses no number up";
}

TEST_F(ControlSessionTest, no_message_is_taken_for_another_kind) {
  const control_sealed call = data_.seal_call(body_);
  EXPECT_EQ(data_.open_call(call), base::fail(SealFault::forged)) << "sent back to who made it";
  EXPECT_EQ(metadata_.open_reply(call.sequence, call), base::fail(SealFault::forged)) << "a call is no reply";
  const control_sealed reply = metadata_.seal_reply(1, body_);
  EXPECT_EQ(data_.open_reply(2, reply), base::fail(SealFault::forged)) << "to another call";
  EXPECT_EQ(data_.open_call(reply), base::fail(SealFault::forged)) << "a reply is no call";
}

TEST_F(ControlSessionTest, another_session_has_another_key) {
  ControlSession stranger(key_of(2), session_id, ROLE_DATA, false);
  EXPECT_EQ(metadata_.open_call(stranger.seal_call(body_)), base::fail(SealFault::forged));
}

TEST_F(ControlSessionTest, bulk_data_is_signed_where_both_want_it) {
  control_sealed call = data_.seal_call(body_, bulk("data"));
  call.bulk = bulk("DATA");
  EXPECT_TRUE(metadata_.open_call(call));

  ControlSession metadata(key_of(1), session_id, ROLE_METADATA, true);
  ControlSession data(key_of(1), session_id, ROLE_DATA, true);
  EXPECT_TRUE(metadata.open_call(data.seal_call(body_, bulk("data"))));
  EXPECT_TRUE(metadata.open_call(data.seal_call(body_)));
  call = data.seal_call(body_, bulk("data"));
  call.bulk = bulk("DATA");
  EXPECT_EQ(metadata.open_call(call), base::fail(SealFault::forged));
}

}  // namespace
}  // namespace braid::pnfs
