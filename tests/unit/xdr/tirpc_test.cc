// Our bytes against libtirpc's.
#include "tests/unit/xdr/tirpc.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "rpc/rpc_msg.x.h"
#include "tests/unit/xdr/sample/constructs.x.h"
#include "tests/unit/xdr/wire.h"

namespace braid::xdr_tests {
namespace {

class TirpcTest : public testing::Test {
 protected:
  template <class T>
  std::string ours(const T& value) {
    return hex_of(memory_.encoded([&](xdr::Encoder& out) { encode(out, value); }));
  }
  Memory memory_;
};

TEST_F(TirpcTest, numbers_have_the_same_bytes) {
  for (const double number : {0.0, -1.5, 1e300, std::numeric_limits<double>::infinity()}) {
    for (const std::int64_t integer :
         {INT64_C(0), INT64_C(-1), INT64_C(0x123456789), std::numeric_limits<std::int64_t>::min()}) {
      const auto low = static_cast<std::int32_t>(integer & 0x7fffffff);
      const tirpc::Numbers theirs{.a = -low,
                                  .b = static_cast<std::uint32_t>(low),
                                  .c = 0xffffffff,
                                  .d = integer,
                                  .e = static_cast<std::uint64_t>(integer),
                                  .f = static_cast<float>(number),
                                  .g = number,
                                  .h = number != 0.0,
                                  .i = -5,
                                  .j = 0x80000000};
      const sample::numbers value{.a = theirs.a,
                                  .b = theirs.b,
                                  .c = theirs.c,
                                  .d = theirs.d,
                                  .e = theirs.e,
                                  .f = theirs.f,
                                  .g = theirs.g,
                                  .h = theirs.h,
                                  .i = sample::colour::BLUE,
                                  .j = sample::flags::HIGH};
      EXPECT_EQ(ours(value), hex_of(tirpc::encode(theirs)));
    }
  }
}

TEST_F(TirpcTest, opaque_data_and_strings_of_every_padding_have_the_same_bytes) {
  for (std::size_t length = 0; length <= 8; ++length) {
    const std::string letters = std::string("abcdefgh").substr(0, length);
    const tirpc::Strings theirs{.fixed = "12345",
                                .variable = letters,
                                .open = letters + letters,
                                .tighter = letters.substr(0, 4),
                                .text = letters};
    sample::bytes value{.variable = base::bytes_of(theirs.variable),
                        .open = base::bytes_of(theirs.open),
                        .tighter = base::bytes_of(theirs.tighter),
                        .text = theirs.text};
    std::memcpy(value.fixed.data(), theirs.fixed.data(), 5);
    EXPECT_EQ(ours(value), hex_of(tirpc::encode(theirs)));
    auto back = tirpc::decode_strings(memory_.encoded([&](xdr::Encoder& out) { encode(out, value); }));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->open, theirs.open);
    EXPECT_EQ(back->text, theirs.text);
  }
}

TEST_F(TirpcTest, arrays_optional_data_and_unions_have_the_same_bytes) {
  const std::array<std::int32_t, 3> numbers{1, -2, 3};
  xdr::Encoder array(memory_.cursor());
  sample::arrays arrays{.some = numbers};
  encode(array, arrays);
  const base::Bytes all = bytes_in(array.finish().bytes);
  EXPECT_EQ(hex_of(base::BytesView(all).subspan(12, 16)), hex_of(tirpc::encode_array({1, -2, 3})));
  EXPECT_EQ(ours(sample::optionals{.number = 7}).substr(0, 16), hex_of(tirpc::encode_optional(7)));
  EXPECT_EQ(ours(sample::optionals{}).substr(0, 8), hex_of(tirpc::encode_optional(std::nullopt)));
  EXPECT_EQ(ours(sample::by_colour::with_number(sample::colour::GREEN, 8)),
            hex_of(tirpc::encode_union(10, 8)));
  EXPECT_EQ(ours(sample::by_colour::with_other_number(9)), hex_of(tirpc::encode_union(-5, 9)));
}

TEST_F(TirpcTest, authsys_parms_have_the_same_bytes) {
  for (std::uint32_t count = 0; count <= 16; ++count) {
    tirpc::Unix theirs{.stamp = 0x01020304,
                       .machine = std::string(count, 'm'),
                       .uid = 1000,
                       .gid = 0xfffffffe,
                       .groups = {}};
    for (std::uint32_t i = 0; i < count; ++i) theirs.groups.push_back(i * 1000);
    const rpc::authsys_parms value{.stamp = theirs.stamp,
                                   .machinename = theirs.machine,
                                   .uid = theirs.uid,
                                   .gid = theirs.gid,
                                   .gids = theirs.groups};
    EXPECT_EQ(ours(value), hex_of(tirpc::encode(theirs)));
  }
}

TEST_F(TirpcTest, calls_have_the_same_bytes) {
  for (std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{36}, std::size_t{400}}) {
    const tirpc::Call theirs{.xid = 0xdeadbeef,
                             .program = 100003,
                             .version = 3,
                             .procedure = 21,
                             .flavor = 1,
                             .credential = std::string(length, 'c')};
    const rpc::call_body body{.rpcvers = rpc::RPC_VERSION,
                              .prog = 100003,
                              .vers = 3,
                              .proc = 21,
                              .cred = {.flavor = 1, .body = base::bytes_of(theirs.credential)},
                              .verf = {.flavor = 0, .body = {}}};
    const rpc::rpc_msg value{.xid = theirs.xid, .body = rpc::rpc_msg_body::with_cbody(body)};
    EXPECT_EQ(ours(value), hex_of(tirpc::encode(theirs)));
  }
}

rpc::rpc_msg accepted(rpc::reply_data_t data) {
  return {
      .xid = 5,
      .body = rpc::rpc_msg_body::with_rbody(rpc::reply_body::with_areply({.verf = {}, .reply_data = data}))};
}
rpc::rpc_msg denied(rpc::rejected_reply reply) {
  return {.xid = 5, .body = rpc::rpc_msg_body::with_rbody(rpc::reply_body::with_rreply(reply))};
}

TEST_F(TirpcTest, replies_have_the_same_bytes) {
  const tirpc::Reply theirs{.xid = 5, .denied = false, .status = 0, .low = 2, .high = 4, .auth_status = 0};
  auto with = [&](bool is_denied, std::uint32_t status, std::uint32_t auth_status = 0) {
    tirpc::Reply reply = theirs;
    reply.denied = is_denied;
    reply.status = status;
    reply.auth_status = auth_status;
    return hex_of(tirpc::encode(reply));
  };
  using rpc::accept_stat;
  EXPECT_EQ(ours(accepted(rpc::reply_data_t::with_SUCCESS())), with(false, 0));
  EXPECT_EQ(ours(accepted(rpc::reply_data_t::with_mismatch_info({.low = 2, .high = 4}))), with(false, 2));
  for (const accept_stat stat : {accept_stat::PROG_UNAVAIL, accept_stat::PROC_UNAVAIL,
                                 accept_stat::GARBAGE_ARGS, accept_stat::SYSTEM_ERR})
    EXPECT_EQ(ours(accepted(rpc::reply_data_t::with_default(stat))),
              with(false, static_cast<std::uint32_t>(stat)));
  EXPECT_EQ(ours(denied(rpc::rejected_reply::with_mismatch_info({.low = 2, .high = 4}))), with(true, 0));
  EXPECT_EQ(ours(denied(rpc::rejected_reply::with_astat(rpc::auth_stat::AUTH_TOOWEAK))), with(true, 1, 5));
}

}  // namespace
}  // namespace braid::xdr_tests
