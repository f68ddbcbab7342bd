// The rules of COMPOUND as a whole: RFC 8881 section 16.2 and 2.10.6, RFC 7530 section 16.2.
#include <array>
#include <filesystem>
#include <numeric>
#include <string>

#include "tests/unit/nfs4/support/world.h"

namespace braid::nfs4::test {
namespace {

using enum nfs_opnum4;
using enum nfsstat4;

TEST(Compound, without_operations_succeeds_and_returns_the_tag) {
  World world;
  const Reply reply = world.send(Request(0).tag("a tag"));
  EXPECT_EQ(reply.status(), NFS4_OK);
  EXPECT_EQ(reply.count(), 0U);
  EXPECT_EQ(reply.tag(), "a tag");
}

TEST(Compound, unknown_minor_version_executes_nothing) {
  World world;
  const Reply reply = world.send(Request(3).add(OP_PUTROOTFH));
  EXPECT_EQ(reply.status(), NFS4ERR_MINOR_VERS_MISMATCH);
  EXPECT_EQ(reply.count(), 0U);
}

TEST(Compound, tag_that_is_no_utf8_is_refused) {
  World world;
  EXPECT_EQ(world.send(Request(0).tag("\xff\xfe").add(OP_PUTROOTFH)).status(), NFS4ERR_INVAL);
  EXPECT_EQ(world.send(Request(0).tag("gr\xc3\xbc\xc3\x9f").add(OP_PUTROOTFH)).status(), NFS4_OK);
}

TEST(Compound, tag_of_a_megabyte_is_refused_and_not_sent_back) {
  World world;
  const Reply reply = world.send(Request(0).tag(std::string(1 << 20, 'x')).add(OP_PUTROOTFH));
  EXPECT_EQ(reply.status(), NFS4ERR_INVAL);
  EXPECT_TRUE(reply.tag().empty());
  EXPECT_LT(reply.bytes().size(), 64U);
}

TEST(Compound, truncated_head_is_garbage) {
  World world;
  EXPECT_EQ(world.send(Request(0).cut_last(4)).answer(), rpc::Answer::garbage_args);
}

TEST(Compound, first_error_ends_it) {
  World world;
  Reply reply = world.send(Request(0).add(OP_PUTROOTFH).add(OP_READLINK).add(OP_GETFH));
  EXPECT_EQ(reply.status(), NFS4ERR_INVAL);
  EXPECT_EQ(reply.count(), 2U);
  EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
  EXPECT_EQ(reply.status_of(OP_READLINK), NFS4ERR_INVAL);
  EXPECT_TRUE(reply.at_end());
}

TEST(Compound, operations_are_counted_and_one_in_16_is_measured) {
  World world;
  const auto count = [&](nfs_opnum4 number) {
    const OperationMetrics::Entry& entry = world.engine().metrics().of(number);
    const auto counts = entry.latency->snapshot().counts;
    return std::array{entry.operations->value(),
                      std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}), entry.errors->value()};
  };
  using Counts = std::array<std::uint64_t, 3>;
  EXPECT_EQ(count(OP_PUTROOTFH), (Counts{0, 0, 0}));
  world.send(Request(0).add(OP_PUTROOTFH).add(OP_READLINK));
  EXPECT_EQ(count(OP_PUTROOTFH), (Counts{1, 1, 0}));
  EXPECT_EQ(count(OP_READLINK), (Counts{1, 1, 1}));
  Request more(0);
  for (int i = 0; i < 32; ++i) more.add(OP_PUTROOTFH);
  world.send(more);
  EXPECT_EQ(count(OP_PUTROOTFH), (Counts{33, 3, 0}));
}

TEST(Compound, operations_before_a_malformed_one_are_executed) {
  World world;
  world.write_local("gone", "");
  Reply reply = world.send(Request(0)
                               .add(OP_PUTROOTFH)
                               .add(OP_REMOVE, REMOVE4args{"gone"})
                               .add(OP_LOOKUP, LOOKUP4args{"x"})
                               .cut_last(6));
  EXPECT_EQ(reply.status(), NFS4ERR_BADXDR);
  EXPECT_EQ(reply.count(), 3U);
  EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
  EXPECT_NE(reply.result<REMOVE4res>(OP_REMOVE).resok4(), nullptr);
  EXPECT_EQ(reply.status_of(OP_LOOKUP), NFS4ERR_BADXDR);
}

TEST(Compound, fewer_operations_than_announced_is_bad_xdr) {
  World world;
  Reply reply = world.send(Request(0).add(OP_PUTROOTFH).claim_count(3));
  EXPECT_EQ(reply.status(), NFS4ERR_BADXDR);
  EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
  EXPECT_EQ(reply.status_of(OP_ILLEGAL), NFS4ERR_BADXDR);
}

TEST(Compound, numbers_of_no_operation_are_illegal) {
  World world;
  for (const std::uint32_t number : {0U, 1U, 2U, 76U, 200U, 10044U, 0xffffffffU}) {
    Reply reply = world.send(Request(0).add_raw(number, {}));
    EXPECT_EQ(reply.status(), NFS4ERR_OP_ILLEGAL) << number;
    EXPECT_EQ(reply.status_of(OP_ILLEGAL), NFS4ERR_OP_ILLEGAL);
  }
}

// RFC 8178 4.4.2, RFC 8881 section 17: later operations are illegal, dropped ones not supported.
TEST(Compound, operation_of_another_minor_version_is_illegal_or_not_supported) {
  World world;
  EXPECT_EQ(world.send(Request(0).add(OP_SEQUENCE)).status(), NFS4ERR_OP_ILLEGAL);
  EXPECT_EQ(world.send(Request(0).add(OP_SEEK)).status(), NFS4ERR_OP_ILLEGAL);
  SessionClient old(world, 1, "old");
  EXPECT_EQ(old.send(old.request().add(OP_PUTROOTFH).add(OP_SEEK)).status(), NFS4ERR_OP_ILLEGAL);
  EXPECT_EQ(old.send(old.request().add(OP_RENEW, RENEW4args{1})).status(), NFS4ERR_NOTSUPP);
  SessionClient client(world, 2, "new");
  EXPECT_EQ(client.send(client.request().add(OP_PUTROOTFH).add(OP_GETDEVICELIST)).status(), NFS4ERR_NOTSUPP);
}

TEST(Compound, needs_a_filehandle) {
  World world;
  const std::array operations{OP_GETFH, OP_LOOKUPP, OP_READLINK, OP_SAVEFH, OP_LOOKUP, OP_READ,
                              OP_WRITE, OP_ACCESS,  OP_COMMIT,   OP_CREATE, OP_REMOVE, OP_RENAME,
                              OP_LINK,  OP_SECINFO, OP_GETATTR,  OP_READDIR};
  for (const nfs_opnum4 number : operations)
    EXPECT_EQ(world.send(Request(0).add(number)).status(), NFS4ERR_NOFILEHANDLE) << name_of(number);
}

TEST(Compound, needs_a_saved_filehandle) {
  World world;
  EXPECT_EQ(world.send(Request(0).add(OP_PUTROOTFH).add(OP_LINK, LINK4args{"x"})).status(),
            NFS4ERR_NOFILEHANDLE);
  EXPECT_EQ(world.send(Request(0).add(OP_PUTROOTFH).add(OP_RESTOREFH)).status(), NFS4ERR_RESTOREFH);
  SessionClient client(world, 1, "client");
  EXPECT_EQ(client.send(client.request().add(OP_PUTROOTFH).add(OP_RESTOREFH)).status(), NFS4ERR_NOFILEHANDLE);
}

TEST(Compound, of_ten_thousand_operations_is_refused_without_executing_one) {
  World world;
  Request request(0);
  for (int i = 0; i < 10'000; ++i) request.add(OP_PUTROOTFH);
  const Reply reply = world.send(request);
  EXPECT_EQ(reply.status(), NFS4ERR_RESOURCE);
  EXPECT_EQ(reply.count(), 1U);
}

TEST(Compound, results_are_bounded_without_a_session) {
  EngineOptions options;
  options.nfs.reply_bytes_max = 4096;
  World world(options);
  Request request(0);
  request.add(OP_PUTROOTFH);
  for (int i = 0; i < 500; ++i) request.add(OP_GETFH);
  const Reply reply = world.send(request);
  EXPECT_EQ(reply.status(), NFS4ERR_RESOURCE);
  EXPECT_GT(reply.count(), 50U);
  EXPECT_LE(reply.bytes().size() + 24, 4096U);
}

TEST(Compound, only_what_changed_something_is_worth_keeping_for_4_0) {
  World world;
  EXPECT_FALSE(world.send(Request(0).add(OP_PUTROOTFH).add(OP_GETFH)).worth_keeping());
  EXPECT_TRUE(world.send(Request(0).add(OP_PUTROOTFH).add(OP_REMOVE, REMOVE4args{"none"})).worth_keeping());
}

// The duplicate-request cache keeps a copy of what a 4.0 COMPOUND that changes something was answered.
class KeptReply40 : public testing::Test {
 protected:
  KeptReply40() {
    world_.offer_pipes(true);
    world_.write_local("long", std::string(200'000, 'x'));
    world_.write_local("gone", "");
  }
  static Request& read(Request& request, std::uint32_t bytes) {
    request.add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"long"});
    return request.add(OP_READ, READ4args{anonymous(), 0, bytes});
  }
  static Request& remove(Request& request) {
    return request.add(OP_PUTROOTFH).add(OP_REMOVE, REMOVE4args{"gone"});
  }
  [[nodiscard]] bool removed() const { return !std::filesystem::exists(world_.directory() + "/gone"); }
  World world_;
};

TEST_F(KeptReply40, bulk_data_is_sent_from_a_pipe_if_nothing_changes) {
  Request request(0);
  const Reply reply = world_.send(read(request, 200'000));
  EXPECT_EQ(reply.status(), NFS4_OK);
  EXPECT_TRUE(reply.bytes().piped());
  EXPECT_FALSE(reply.worth_keeping());
}

TEST_F(KeptReply40, nothing_is_changed_behind_bulk_data) {
  Request request(0);
  const Reply reply = world_.send(remove(read(request, 200'000)));
  EXPECT_EQ(reply.status(), NFS4ERR_RESOURCE);
  EXPECT_EQ(reply.count(), 5U);
  EXPECT_FALSE(reply.worth_keeping());
  EXPECT_FALSE(removed());
}

TEST_F(KeptReply40, bulk_data_is_not_read_behind_a_change) {
  Request request(0);
  const Reply reply = world_.send(read(remove(request), 200'000));
  EXPECT_EQ(reply.status(), NFS4ERR_RESOURCE);
  EXPECT_TRUE(reply.worth_keeping());
  EXPECT_FALSE(reply.bytes().piped());
  EXPECT_LT(reply.bytes().size(), 200U);
  EXPECT_TRUE(removed());
}

TEST_F(KeptReply40, a_little_data_may_be_read_on_both_sides_of_a_change) {
  Request request(0);
  const Reply reply = world_.send(read(remove(read(request, 20'000)), 20'000));
  EXPECT_EQ(reply.status(), NFS4_OK);
  EXPECT_TRUE(reply.worth_keeping());
  EXPECT_FALSE(reply.bytes().piped());
  EXPECT_GT(reply.bytes().size(), 40'000U);
  EXPECT_TRUE(removed());
}

// --- RFC 8881 2.10.6 and 18.46.3: sessions.

TEST(CompoundInSession, begins_with_sequence) {
  World world;
  EXPECT_EQ(world.send(Request(1).add(OP_PUTROOTFH)).status(), NFS4ERR_OP_NOT_IN_SESSION);
  EXPECT_EQ(world.send(Request(1)).status(), NFS4_OK);
}

TEST(CompoundInSession, what_needs_an_ssv_or_promises_a_delegation_later_is_refused) {
  World world;
  SessionClient client(world, 1, "client");
  EXPECT_EQ(client.send(client.request().add(OP_SET_SSV, SET_SSV4args{})).status(), NFS4ERR_INVAL);
  WANT_DELEGATION4args want;
  want.wda_claim = deleg_claim4::with_CLAIM_FH();
  EXPECT_EQ(client.send(client.request().add(OP_PUTROOTFH).add(OP_WANT_DELEGATION, want)).status(),
            NFS4ERR_NOTSUPP);
}

TEST(CompoundInSession, sequence_comes_first_only) {
  World world;
  SessionClient client(world, 1, "client");
  Request request = client.request();
  request.add(OP_PUTROOTFH).add(OP_SEQUENCE, SEQUENCE4args{client.session(), 9, 0, 0, false});
  EXPECT_EQ(client.send(request).status(), NFS4ERR_SEQUENCE_POS);
}

TEST(CompoundInSession, what_needs_no_session_stands_alone_without_one) {
  World world;
  Request request(1);
  request.add(OP_DESTROY_CLIENTID, DESTROY_CLIENTID4args{77}).add(OP_PUTROOTFH);
  EXPECT_EQ(world.send(request).status(), NFS4ERR_NOT_ONLY_OP);
}

TEST(CompoundInSession, reply_that_is_too_big_is_an_error_of_its_operation) {
  EngineOptions options;
  options.clients.fore.response_bytes_max = 2048;
  World world(options);
  SessionClient client(world, 1, "client");
  Request request = client.request();
  request.add(OP_PUTROOTFH);
  for (int i = 0; i < 60; ++i) request.add(OP_GETFH);
  const Reply reply = client.send(request);
  EXPECT_EQ(reply.status(), NFS4ERR_REP_TOO_BIG);
  EXPECT_GT(reply.count(), 10U);
  EXPECT_LE(reply.bytes().size() + 24, client.fore().ca_maxresponsesize);
}

TEST(CompoundInSession, reply_that_cannot_be_kept_is_an_error_of_its_operation) {
  EngineOptions options;
  options.clients.fore.cached_bytes_max = 1024;
  World world(options);
  SessionClient client(world, 1, "client");
  Request request = client.request(0, true);
  request.add(OP_PUTROOTFH);
  for (int i = 0; i < 60; ++i) request.add(OP_GETFH);
  const Reply reply = client.send(request);
  EXPECT_EQ(reply.status(), NFS4ERR_REP_TOO_BIG_TO_CACHE);
  EXPECT_LE(reply.bytes().size() + 24, client.fore().ca_maxresponsesize_cached);
}

// Operations whose results are short, long, or have a body although they fail.
Request& add_any(Request& request, std::uint32_t kind) {
  SETATTR4args nothing;
  switch (kind % 6) {
    case 0:
      return request.add(OP_GETFH);
    case 1:
      return request.add(OP_GETATTR, GETATTR4args{});
    case 2:
      return request.add(OP_LOOKUP, LOOKUP4args{"none"});
    case 3:
      return request.add(OP_SETATTR, nothing);
    default:
      return request.add(OP_PUTROOTFH);
  }
}

TEST(CompoundInSession, no_reply_is_longer_than_the_session_allows) {
  for (std::uint32_t limit = 100; limit < 260; limit += 4) {
    EngineOptions options;
    options.clients.fore.response_bytes_max = 260;
    options.clients.fore.cached_bytes_max = limit;
    World world(options);
    SessionClient client(world, 1, "client");
    for (std::uint32_t seed = 0; seed < 12; ++seed) {
      const bool kept = seed % 2 == 0;
      Request request = client.request(0, kept).add(OP_PUTROOTFH);
      for (std::uint32_t i = 0; i < 40; ++i) add_any(request, seed / 2 + i * (1 + seed % 5));
      const Reply reply = world.send(request);
      EXPECT_LE(reply.bytes().size() + 24, kept ? limit : 260U) << "limit " << limit << " seed " << seed;
    }
  }
}

TEST(CompoundInSession, results_without_a_body_count) {
  EngineOptions options;
  options.clients.fore.response_bytes_max = 100;
  World world(options);
  SessionClient client(world, 1, "client");
  Request request = client.request();
  for (int i = 0; i < 60; ++i) request.add(OP_PUTROOTFH);
  const Reply reply = client.send(request);
  EXPECT_EQ(reply.status(), NFS4ERR_REP_TOO_BIG);
  EXPECT_LE(reply.bytes().size() + 24, 100U);
  EXPECT_EQ(client.send(client.request().add(OP_PUTROOTFH)).status(), NFS4_OK);
}

TEST(CompoundInSession, a_tag_that_does_not_fit_is_left_out_and_uses_no_sequence_id_up) {
  EngineOptions options;
  options.clients.fore.response_bytes_max = 100;
  World world(options);
  SessionClient client(world, 1, "client");
  Request request = client.request();
  const Reply reply = world.send(request.add(OP_PUTROOTFH).tag(std::string(64, 't')));
  EXPECT_EQ(reply.status(), NFS4ERR_REP_TOO_BIG);
  EXPECT_EQ(reply.count(), 1U);
  EXPECT_TRUE(reply.tag().empty());
  EXPECT_LE(reply.bytes().size() + 24, 100U);
  EXPECT_EQ(client.send(client.again().add(OP_PUTROOTFH)).status(), NFS4_OK);
}

TEST(CompoundInSession, repeated_request_gets_the_kept_reply_and_is_not_executed_again) {
  World world;
  SessionClient client(world, 2, "client");
  world.write_local("file", "");
  const Request request = client.request(0, true).add(OP_PUTROOTFH).add(OP_REMOVE, REMOVE4args{"file"});
  const Reply first = client.send(request);
  EXPECT_EQ(first.status(), NFS4_OK);
  world.write_local("file", "");
  const Reply second = client.send(request);
  EXPECT_EQ(second.status(), NFS4_OK);
  base::Bytes a(first.bytes().size());
  base::Bytes b(second.bytes().size());
  first.bytes().in_memory().value().copy_to(0, a);
  second.bytes().in_memory().value().copy_to(0, b);
  EXPECT_EQ(a, b);
  EXPECT_EQ(client.send(client.request().add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"file"})).status(),
            NFS4_OK);
}

TEST(CompoundInSession, repeated_request_that_was_not_kept_is_told_so) {
  World world;
  SessionClient client(world, 2, "client");
  const Request request = client.request().add(OP_PUTROOTFH).add(OP_GETFH);
  EXPECT_EQ(client.send(request).status(), NFS4_OK);
  Reply second = client.send(request);
  EXPECT_EQ(second.status(), NFS4ERR_RETRY_UNCACHED_REP);
  EXPECT_EQ(second.status_of(OP_PUTROOTFH), NFS4ERR_RETRY_UNCACHED_REP);
  EXPECT_EQ(client.send(client.request().add(OP_PUTROOTFH)).status(), NFS4_OK);
}

TEST(CompoundInSession, a_lone_sequence_is_answered_again_and_nothing_is_kept_for_that) {
  World world;
  SessionClient client(world, 2, "client");
  const std::string tag(1000, 't');
  const Request request = client.request().tag(tag);
  const Reply first = client.send(request);
  const Reply second = client.send(request);
  EXPECT_EQ(second.status(), NFS4_OK);
  EXPECT_EQ(second.count(), 1U);
  EXPECT_EQ(second.bytes().size(), first.bytes().size());
  EXPECT_EQ(client.send(client.request().add(OP_PUTROOTFH)).status(), NFS4_OK);
  EXPECT_EQ(world.engine().state().clients.find_session(client.session())->slot_stats().kept_bytes, 0U);
}

// --- RFC 8881 16.2.3.1.2: the current stateid.

TEST(CurrentStateid, that_nobody_set_is_bad) {
  World world;
  SessionClient client(world, 1, "client");
  world.write_local("file", "text");
  Request request = client.request();
  request.add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"file"}).add(OP_READ, READ4args{current(), 0, 4});
  EXPECT_EQ(client.send(request).status(), NFS4ERR_BAD_STATEID);
}

OPEN4args open_args(const SessionClient& client, std::string_view name) {
  OPEN4args args;
  args.share_access = OPEN4_SHARE_ACCESS_BOTH | OPEN4_SHARE_ACCESS_WANT_NO_DELEG;
  args.owner = {client.id(), base::bytes_of("owner")};
  args.openhow = openflag4::with_how(createhow4::with_createattrs(createmode4::UNCHECKED4, {}));
  args.claim = open_claim4::with_file(name);
  return args;
}

TEST(CurrentStateid, of_open_serves_read_write_and_close) {
  World world;
  SessionClient client(world, 2, "client");
  io::SlabCursor cursor(test_slabs());
  io::SlabRange text = cursor.carve(5).value();
  std::ranges::copy(base::bytes_of("hello"), text.writable().begin());
  Request request = client.request();
  request.add(OP_PUTROOTFH)
      .add(OP_OPEN, open_args(client, "file"))
      .add(OP_WRITE, WRITE4args{current(), 0, stable_how4::FILE_SYNC4, io::Payload(text)})
      .add(OP_READ, READ4args{current(), 1, 100})
      .add(OP_CLOSE, CLOSE4args{0, current()});
  Reply reply = client.send(request);
  EXPECT_EQ(reply.status(), NFS4_OK);
  EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
  EXPECT_NE(reply.result<OPEN4res>(OP_OPEN).resok4(), nullptr);
  const auto written = reply.result<WRITE4res>(OP_WRITE);
  ASSERT_NE(written.resok4(), nullptr);
  EXPECT_EQ(written.resok4()->count, 5U);
  const auto read = reply.result<READ4res>(OP_READ);
  ASSERT_NE(read.resok4(), nullptr);
  EXPECT_TRUE(read.resok4()->eof);
  EXPECT_EQ(read.resok4()->data.size(), 4U);
  EXPECT_EQ(world.read_local("file"), "hello");
}

TEST(CurrentStateid, goes_with_the_filehandle_when_saved_and_is_lost_by_lookup) {
  World world;
  SessionClient client(world, 1, "client");
  Request kept = client.request();
  kept.add(OP_PUTROOTFH)
      .add(OP_OPEN, open_args(client, "file"))
      .add(OP_SAVEFH)
      .add(OP_PUTROOTFH)
      .add(OP_RESTOREFH)
      .add(OP_READ, READ4args{current(), 0, 1});
  EXPECT_EQ(client.send(kept).status(), NFS4_OK);
  Request lost = client.request();
  lost.add(OP_PUTROOTFH)
      .add(OP_OPEN, open_args(client, "file"))
      .add(OP_PUTROOTFH)
      .add(OP_LOOKUP, LOOKUP4args{"file"})
      .add(OP_READ, READ4args{current(), 0, 1});
  EXPECT_EQ(client.send(lost).status(), NFS4ERR_BAD_STATEID);
}

}  // namespace
}  // namespace braid::nfs4::test
