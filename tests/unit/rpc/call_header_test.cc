#include "rpc/call_header.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rpc/reply_header.h"
#include "tests/unit/rpc/bytes.h"

namespace braid::rpc {
namespace {

using base::Bytes;
using test::append;
using test::words;

class CallHeaderTest : public testing::Test {
 protected:
  CallHeaderTest() : pool_({.bytes_max = 64 * base::MiB, .huge_pages = false}), cursor_(pool_) {}

  HeaderOutcome judge(const Bytes& message, std::size_t piece = io::small_slab_bytes) {
    call_ = std::make_unique<Call>(test::payload_of(pool_, message, piece), PeerAddress{}, cursor_);
    return decode_call_header(*call_);
  }
  static Bytes with_credential(std::uint32_t flavor, const Bytes& body, const Bytes& rest = words({0, 0})) {
    Bytes out = words({7, 0, 2, 100003, 3, 1, flavor, static_cast<std::uint32_t>(body.size())});
    append(out, body);
    append(out, rest);
    return out;
  }
  // stamp, "host", uid 1000, gid 100, groups 0 ... n-1
  static Bytes auth_sys(std::uint32_t groups) {
    Bytes out = words({99, 4, 0x686f7374, 1000, 100, groups});
    for (std::uint32_t i = 0; i < groups; ++i) test::put_u32(out, i);
    return out;
  }

  io::SlabPool pool_;
  io::SlabCursor cursor_;
  std::unique_ptr<Call> call_;
};

TEST_F(CallHeaderTest, a_call_with_auth_none_is_in_order) {
  Bytes message = words({0xdeadbeef, 0, 2, 100003, 3, 1, 0, 0, 0, 0, 0x11223344});
  ASSERT_EQ(judge(message).verdict, HeaderVerdict::call);
  EXPECT_EQ(call_->xid, 0xdeadbeefU);
  EXPECT_EQ(call_->program, 100003U);
  EXPECT_EQ(call_->version, 3U);
  EXPECT_EQ(call_->procedure, 1U);
  EXPECT_TRUE(std::holds_alternative<AuthNone>(call_->auth));
  std::uint32_t argument = 0;
  EXPECT_TRUE(call_->args.u32(argument));
  EXPECT_EQ(argument, 0x11223344U);
}

TEST_F(CallHeaderTest, auth_sys_is_decoded_wherever_the_slabs_end) {
  Bytes message = with_credential(1, auth_sys(16));
  for (std::size_t piece = 1; piece <= message.size(); piece += 3) {
    ASSERT_EQ(judge(message, piece).verdict, HeaderVerdict::call) << piece;
    const auto& sys = std::get<AuthSys>(call_->auth);
    EXPECT_EQ(sys.stamp, 99U);
    EXPECT_EQ(sys.machinename, "host");
    EXPECT_EQ(sys.uid, 1000U);
    EXPECT_EQ(sys.gid, 100U);
    ASSERT_EQ(sys.groups().size(), 16U);
    EXPECT_EQ(sys.groups()[15], 15U);
    EXPECT_EQ(call_->args.remaining(), 0U);
  }
}

TEST_F(CallHeaderTest, a_message_cut_short_is_unanswerable_at_every_length) {
  const Bytes message = with_credential(1, auth_sys(3));
  for (std::size_t length = 0; length < message.size(); ++length) {
    const Bytes cut(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_EQ(judge(cut).verdict, HeaderVerdict::unanswerable) << length;
  }
}

struct Refusal {
  std::string why;
  Bytes message;
  HeaderVerdict verdict;
  auth_stat stat = auth_stat::AUTH_OK;
};

TEST_F(CallHeaderTest, every_fault_has_its_verdict) {
  const auto credential = [](std::uint32_t flavor, const Bytes& body, const Bytes& rest = words({0, 0})) {
    return with_credential(flavor, body, rest);
  };
  Bytes trailing = auth_sys(2);
  append(trailing, words({0}));
  Bytes long_name = words({1, 256});
  long_name.resize(long_name.size() + 256);
  append(long_name, words({0, 0, 0}));
  const std::vector<Refusal> cases{
      {"type 2", words({1, 2, 2, 3, 4, 5, 0, 0, 0, 0}), HeaderVerdict::unanswerable},
      {"a reply", words({1, 1, 0, 0, 0, 0}), HeaderVerdict::reply},
      {"RPC version 1", words({1, 0, 1, 3, 4, 5, 0, 0, 0, 0}), HeaderVerdict::rpc_mismatch},
      {"RPC version 3, nothing behind", words({1, 0, 3}), HeaderVerdict::rpc_mismatch},
      {"AUTH_NONE with a body", credential(0, words({1})), HeaderVerdict::auth_error,
       auth_stat::AUTH_BADCRED},
      {"17 groups", credential(1, auth_sys(17)), HeaderVerdict::auth_error, auth_stat::AUTH_BADCRED},
      {"group count near 2^32", credential(1, words({1, 0, 5, 6, 0xffffffff})), HeaderVerdict::auth_error,
       auth_stat::AUTH_BADCRED},
      {"groups cut short", credential(1, words({1, 0, 5, 6, 2, 7})), HeaderVerdict::auth_error,
       auth_stat::AUTH_BADCRED},
      {"something behind the groups", credential(1, trailing), HeaderVerdict::auth_error,
       auth_stat::AUTH_BADCRED},
      {"empty AUTH_SYS", credential(1, {}), HeaderVerdict::auth_error, auth_stat::AUTH_BADCRED},
      {"name of 256 bytes", credential(1, long_name), HeaderVerdict::auth_error, auth_stat::AUTH_BADCRED},
      {"name longer than the body", credential(1, words({1, 0xfffffffd, 0, 0, 0})), HeaderVerdict::auth_error,
       auth_stat::AUTH_BADCRED},
      {"AUTH_SHORT", credential(2, words({0x12345678})), HeaderVerdict::auth_error,
       auth_stat::AUTH_REJECTEDCRED},
      {"AUTH_DH", credential(3, {}), HeaderVerdict::auth_error, auth_stat::AUTH_REJECTEDCRED},
      {"RPCSEC_GSS", credential(6, words({1, 2, 3})), HeaderVerdict::auth_error,
       auth_stat::AUTH_REJECTEDCRED},
      {"flavour 2^32 - 1", credential(0xffffffff, {}), HeaderVerdict::auth_error,
       auth_stat::AUTH_REJECTEDCRED},
      {"body of 404 bytes", credential(1, Bytes(404)), HeaderVerdict::auth_error, auth_stat::AUTH_BADCRED},
      {"body length near 2^32", words({7, 0, 2, 100003, 3, 1, 1, 0xfffffffe, 0, 0}),
       HeaderVerdict::auth_error, auth_stat::AUTH_BADCRED},
      {"verifier AUTH_SYS", credential(1, auth_sys(0), words({1, 0})), HeaderVerdict::auth_error,
       auth_stat::AUTH_BADVERF},
      {"verifier with a body", credential(1, auth_sys(0), words({0, 4, 0})), HeaderVerdict::auth_error,
       auth_stat::AUTH_BADVERF},
      {"verifier length near 2^32", credential(1, auth_sys(0), words({0, 0xffffffff})),
       HeaderVerdict::auth_error, auth_stat::AUTH_BADVERF},
  };
  for (const Refusal& one : cases) {
    const HeaderOutcome outcome = judge(one.message);
    EXPECT_EQ(outcome.verdict, one.verdict) << one.why;
    EXPECT_EQ(outcome.why, one.stat) << one.why;
  }
}

TEST_F(CallHeaderTest, the_xid_of_a_refused_call_is_known) {
  judge(words({0xabcdef01, 0, 9}));
  EXPECT_EQ(call_->xid, 0xabcdef01U);
}

TEST_F(CallHeaderTest, replies_have_the_bytes_of_the_rfc) {
  const auto encoded = [&](auto encode) {
    xdr::Encoder out(cursor_);
    encode(out);
    return test::bytes_of(out.finish().bytes);
  };
  EXPECT_EQ(encoded([](xdr::Encoder& out) { encode_accepted(out, 5, accept_stat::SUCCESS); }),
            words({5, 1, 0, 0, 0, 0}));
  EXPECT_EQ(encoded([](xdr::Encoder& out) { encode_accepted(out, 5, accept_stat::GARBAGE_ARGS); }),
            words({5, 1, 0, 0, 0, 4}));
  EXPECT_EQ(encoded([](xdr::Encoder& out) { encode_prog_mismatch(out, 5, 2, 4); }),
            words({5, 1, 0, 0, 0, 2, 2, 4}));
  EXPECT_EQ(encoded([](xdr::Encoder& out) { encode_rpc_mismatch(out, 5); }), words({5, 1, 1, 0, 2, 2}));
  EXPECT_EQ(encoded([](xdr::Encoder& out) { encode_auth_error(out, 5, auth_stat::AUTH_REJECTEDCRED); }),
            words({5, 1, 1, 1, 2}));
}

// The generated codec as second opinion on what the hand-written one reads.
TEST_F(CallHeaderTest, what_the_generated_codec_writes_is_read) {
  const std::array<std::uint32_t, 2> groups{10, 20};
  xdr::Encoder body(cursor_);
  encode(body, authsys_parms{.stamp = 1, .machinename = "client", .uid = 2, .gid = 3, .gids = groups});
  const Bytes credential = test::bytes_of(body.finish().bytes);
  rpc_msg message{.xid = 77};
  message.body = rpc_msg_body::with_cbody({.rpcvers = RPC_VERSION,
                                           .prog = 1,
                                           .vers = 2,
                                           .proc = 3,
                                           .cred = {.flavor = 1, .body = credential},
                                           .verf = {}});
  xdr::Encoder out(cursor_);
  encode(out, message);
  ASSERT_EQ(judge(test::bytes_of(out.finish().bytes)).verdict, HeaderVerdict::call);
  const auto& sys = std::get<AuthSys>(call_->auth);
  EXPECT_EQ(sys.machinename, "client");
  EXPECT_EQ(sys.groups()[1], 20U);
}

}  // namespace
}  // namespace braid::rpc
