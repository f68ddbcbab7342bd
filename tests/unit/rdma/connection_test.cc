// RPC over RDMA from end to end, in the bytes of RFC 8166.
#include <gtest/gtest.h>

#include "tests/unit/rdma/connection_fixture.h"

namespace braid::rdma {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): the words of these tests

TEST_F(ConnectionTest, inline_call_and_reply) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    EXPECT_TRUE(client.established);
    EXPECT_EQ(client.server, (PrivateData{4096, 4096, true}));
    client.send(Wire(7, 32, 0).with(call(7, proc_null)));
    const Bytes answer = co_await answer_to(client);
    EXPECT_EQ(answer, joined(words({7, 1, credits_max, 0, 0, 0, 0}), success(7)));
  });
}

TEST_F(ConnectionTest, read_data_goes_to_the_write_chunk) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    const Offer sink = client.writable(100'000);
    const Segment first = sink.segment(0, 60'000);
    const Segment second = sink.segment(60'000, 40'000);
    client.send(Wire(7, 32, 0).write({first, second}).with(call(7, proc_read, words({1, 99'999}))));
    const Bytes answer = co_await answer_to(client);
    const Segment rest{second.key, 39'999, second.address};
    EXPECT_EQ(answer, Wire(7, credits_max, 0).write({first, rest}).with(success(7, words({99'999}))));
    EXPECT_EQ(sink.first(99'999), patterned(99'999));
    EXPECT_EQ(sink.content()[99'999], std::byte{0});  // no padding
    EXPECT_EQ(world_->host.stats().chains, 1U);
    EXPECT_EQ(world_->metrics.bytes_written.value(), 99'999U);
  });
}

TEST_F(ConnectionTest, write_chunks_follow_the_order_of_the_data) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    const Offer a = client.writable(1000);
    const Offer b = client.writable(1000);
    const Offer c = client.writable(1000);
    client.send(Wire(7, 32, 0)
                    .write({a.segment()})
                    .write({b.segment()})
                    .write({c.segment()})
                    .with(call(7, proc_read, words({2, 0, 10}))));
    const Bytes answer = co_await answer_to(client);
    EXPECT_EQ(answer, Wire(7, credits_max, 0)
                          .write({a.segment(0, 0)})
                          .write({b.segment(0, 10)})
                          .write({c.segment(0, 0)})
                          .with(success(7, words({0, 10}))));
    EXPECT_EQ(b.first(10), patterned(10));
  });
}

TEST_F(ConnectionTest, data_of_a_read_chunk_takes_its_place_in_the_call) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    for (const std::size_t bytes : {1UL, 4UL, 4097UL, 70'001UL, 1'048'576UL}) {
      const Bytes data = patterned(bytes);
      const Offer source = client.readable(data);
      const auto length = static_cast<std::uint32_t>(bytes);
      Wire wire(7, 32, 0);
      // The opaque's bytes come behind 40 bytes of RPC header and its length.
      if (bytes > 1) {
        wire.read(44, source.segment(0, bytes / 2)).read(44, source.segment(bytes / 2, bytes - bytes / 2));
      } else {
        wire.read(44, source.segment());
      }
      client.send(wire.with(call(7, proc_write, words({length, 99}))));
      const Bytes answer = co_await answer_to(client);
      EXPECT_EQ(answer, joined(words({7, 1, credits_max, 0, 0, 0, 0}),
                               success(7, words({length, sum_of(data), 99}))));
    }
    EXPECT_EQ(world_->metrics.read_chunks.value(), 5U);
  });
}

TEST_F(ConnectionTest, a_long_call_lies_at_position_zero) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    const Bytes data = patterned(9000);
    const Offer source = client.readable(call(7, proc_write, joined(opaque(data), words({5}))));
    client.send(Wire(7, 32, 1).read(0, source.segment()).with());
    const Bytes answer = co_await answer_to(client);
    EXPECT_EQ(answer,
              joined(words({7, 1, credits_max, 0, 0, 0, 0}), success(7, words({9000, sum_of(data), 5}))));
  });
}

TEST_F(ConnectionTest, a_long_call_may_have_read_chunks_of_its_own) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    const Bytes data = patterned(9001);
    const Offer body = client.readable(call(7, proc_write, words({9001, 5})));
    const Offer source = client.readable(data);
    client.send(Wire(7, 32, 1).read(44, source.segment()).read(0, body.segment()).with());
    const Bytes answer = co_await answer_to(client);
    EXPECT_EQ(answer,
              joined(words({7, 1, credits_max, 0, 0, 0, 0}), success(7, words({9001, sum_of(data), 5}))));
  });
}

TEST_F(ConnectionTest, a_long_reply_goes_to_the_reply_chunk) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    const Offer sink = client.writable(20'000);
    client.send(Wire(7, 32, 0).reply({sink.segment()}).with(call(7, proc_list, words({10'000}))));
    const Bytes answer = co_await answer_to(client);
    const Bytes expected = success(7, opaque(patterned(10'000)));
    EXPECT_EQ(answer, Wire(7, credits_max, 1).reply({sink.segment(0, expected.size())}).with());
    EXPECT_EQ(sink.first(expected.size()), expected);
    EXPECT_EQ(world_->metrics.reply_chunks.value(), 1U);
  });
}

TEST_F(ConnectionTest, the_inline_threshold_is_the_smaller_of_both_sides) {
  run([&]() -> io::Op<> {
    const ClientOptions limits{.private_data = std::nullopt};
    SimClient& client = *co_await world_->connect(limits);
    const auto fits = static_cast<std::uint32_t>(inline_bytes_default - plain_header_bytes - 28);
    client.send(Wire(7, 32, 0).with(call(7, proc_list, words({fits}))));
    Bytes answer = co_await answer_to(client);
    EXPECT_EQ(answer.size(), inline_bytes_default);
    client.send(Wire(8, 32, 0).with(call(8, proc_list, words({fits + 1}))));
    answer = co_await answer_to(client);
    EXPECT_EQ(answer, words({8, 1, credits_max, 4, 2}));
  });
}

TEST_F(ConnectionTest, a_sole_key_is_invalidated_if_the_client_understands_it) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    const Offer sink = client.writable(1000);
    client.send(Wire(7, 32, 0).write({sink.segment()}).with(call(7, proc_read, words({1, 9}))));
    (void)co_await answer_to(client);
    EXPECT_EQ(world_->host.stats().count(Opcode::send_invalidate), 1U);
    const ClientOptions limits{.private_data = PrivateData{4096, 4096, false}};
    SimClient& other = *co_await world_->connect(limits);
    const Offer kept = other.writable(1000);
    other.send(Wire(7, 32, 0).write({kept.segment()}).with(call(7, proc_read, words({1, 9}))));
    (void)co_await answer_to(other);
    EXPECT_EQ(world_->host.stats().count(Opcode::send_invalidate), 1U);
  });
}

TEST_F(ConnectionTest, what_the_transport_cannot_use_gets_the_error_of_the_rfc) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    const Offer sink = client.writable(100);
    const Bytes null = call(7, proc_null);
    const std::vector<Bytes> bad_chunks = {
        words({7, 1, 1, 2, 0, 0, 0, 0, 0}),                            // RDMA_MSGP
        words({7, 1, 1, 9, 0, 0, 0}),                                  // no procedure
        words({7, 1, 1, 0, 1, 4, 0}),                                  // lists that do not end
        Wire(7, 1, 0).read(3, sink.segment()).with(null),              // between two items
        Wire(7, 1, 0).read(4000, sink.segment()).with(null),           // behind the end
        Wire(7, 1, 0).read(0, sink.segment()).with(null),              // inline, and not
        Wire(7, 1, 1).with(),                                          // neither
        Wire(7, 1, 0).read(40, {{}, 0xffffffff, 0}).with(null),        // 4 GiB
        Wire(7, 1, 0).write({{{}, 2, ~std::uint64_t{0}}}).with(null),  // past the end of memory
        Wire(7, 1, 0).write({sink.segment()}).with(call(7, proc_read, words({1, 101}))),  // too small
        Wire(7, 1, 0).reply({sink.segment()}).with(call(7, proc_list, words({5000}))),
        Wire(7, 1, 0).with(call(8, proc_null)),  // two xids
        Wire(7, 1, 0).with(words({7})),          // no message
    };
    for (std::size_t i = 0; i < bad_chunks.size(); ++i) {
      if (i == 4) continue;  // has to be read first; see below
      client.send(bad_chunks[i]);
      const Bytes answer = co_await answer_to(client);
      EXPECT_EQ(answer, words({7, 1, credits_max, 4, 2})) << i;
    }
    const Offer source = client.readable(patterned(8));
    client.send(Wire(7, 1, 0).read(4000, source.segment()).with(null));
    Bytes answer = co_await answer_to(client);
    EXPECT_EQ(answer, words({7, 1, credits_max, 4, 2}));
    client.send(words({7, 2, 1, 0, 0, 0, 0}));
    answer = co_await answer_to(client);
    EXPECT_EQ(answer, words({7, 2, credits_max, 4, 1, 1, 1}));
    EXPECT_FALSE(client.disconnected);
    client.send(Wire(7, 32, 0).with(null));
    answer = co_await answer_to(client);
    EXPECT_EQ(answer, joined(words({7, 1, credits_max, 0, 0, 0, 0}), success(7)));
    EXPECT_EQ(sink.content(), Bytes(100));
  });
}

TEST_F(ConnectionTest, rdma_done_and_what_is_too_short_for_a_header_are_dropped) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    client.send(words({7, 1, 1, 3}));
    client.send(words({7, 1, 1}));
    client.send(words({7, 2, 1, 0, 0, 0}));
    Bytes answer = co_await answer_to(client);
    EXPECT_TRUE(answer.empty());
    client.send(Wire(7, 32, 0).with(call(7, proc_null)));
    answer = co_await answer_to(client);
    EXPECT_EQ(answer, joined(words({7, 1, credits_max, 0, 0, 0, 0}), success(7)));
  });
}

TEST_F(ConnectionTest, a_reply_in_a_read_chunk_ends_the_connection) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    const Offer source = client.readable(success(7));
    client.send(Wire(7, 32, 1).read(0, source.segment()).with());
    co_await world_->settle();
    EXPECT_TRUE(client.disconnected);
    EXPECT_EQ(world_->metrics.closed_header.value(), 1U);
    EXPECT_EQ(world_->rdma->connections(), 0U);
  });
}

TEST_F(ConnectionTest, a_key_that_faults_ends_the_connection_and_nothing_else) {
  run([&]() -> io::Op<> {
    SimClient& good = *co_await world_->connect();
    for (const bool reads : {true, false}) {
      SimClient& client = *co_await world_->connect();
      const Segment wrong{RemoteKey(1), 8, 4096};
      if (reads)
        client.send(Wire(7, 32, 0).read(44, wrong).with(call(7, proc_write, words({8, 9}))));
      else
        client.send(Wire(7, 32, 0).write({wrong}).with(call(7, proc_read, words({1, 8}))));
      co_await world_->settle();
      EXPECT_TRUE(client.disconnected);
      EXPECT_TRUE(client.messages.empty());
    }
    EXPECT_EQ(world_->metrics.closed_transfer.value(), 2U);
    EXPECT_EQ(world_->rdma->connections(), 1U);
    good.send(Wire(7, 32, 0).with(call(7, proc_null)));
    const Bytes answer = co_await answer_to(good);
    EXPECT_FALSE(answer.empty());
  });
}

TEST_F(ConnectionTest, the_server_writes_nowhere_but_into_what_was_offered) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    const Offer sink = client.writable(3000);
    client.send(Wire(7, 32, 0)
                    .write({sink.segment(1000, 10), sink.segment(2000, 10)})
                    .with(call(7, proc_read, words({1, 15}))));
    (void)co_await answer_to(client);
    Bytes expected(3000);
    for (std::size_t i = 0; i < 15; ++i) expected[i < 10 ? 1000 + i : 1990 + i] = pattern(i);
    EXPECT_EQ(sink.content(), expected);
  });
}

// RFC 8166 says nothing against it: written in the order of the segments, as everywhere.
TEST_F(ConnectionTest, segments_that_overlap_are_written_in_their_order) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    const Offer sink = client.writable(20);
    client.send(Wire(7, 32, 0)
                    .write({sink.segment(0, 10), sink.segment(5, 10)})
                    .with(call(7, proc_read, words({1, 15}))));
    (void)co_await answer_to(client);
    Bytes expected(20);
    for (std::size_t i = 0; i < 5; ++i) {
      expected[i] = pattern(i);
      expected[5 + i] = pattern(10 + i);
    }
    EXPECT_EQ(sink.content(), expected);
  });
}

TEST_F(ConnectionTest, reads_stay_within_what_both_sides_agreed_to) {
  run([&]() -> io::Op<> {
    const ClientOptions limits{.reads_in = 3};
    SimClient& client = *co_await world_->connect(limits);
    std::vector<Offer> sources;
    for (std::uint32_t i = 0; i < 10; ++i) {
      const Offer& source = sources.emplace_back(client.readable(patterned(4000)));
      Wire wire(i, 32, 0);
      for (std::size_t piece = 0; piece < 8; ++piece) wire.read(44, source.segment(piece * 500, 500));
      client.send(wire.with(call(i, proc_write, words({4000, i}))));
    }
    co_await world_->settle();
    EXPECT_EQ(client.messages.size(), 10U);
    EXPECT_EQ(world_->host.stats().reads_out_most, 3U);
    EXPECT_EQ(world_->host.stats().count(Opcode::read), 80U);
  });
}

TEST_F(ConnectionTest, of_a_peer_that_answers_no_reads_read_chunks_are_refused) {
  run([&]() -> io::Op<> {
    const ClientOptions limits{.reads_in = 0};
    SimClient& client = *co_await world_->connect(limits);
    const Offer source = client.readable(patterned(8));
    client.send(Wire(7, 1, 0).read(44, source.segment()).with(call(7, proc_write, words({8, 1}))));
    const Bytes answer = co_await answer_to(client);
    EXPECT_EQ(answer, words({7, 1, credits_max, 4, 2}));
  });
}

TEST_F(ConnectionTest, more_calls_than_credits_end_the_connection) {
  WorldOptions options;
  options.rdma.credits = 4;
  options.rdma.back_credits = 2;
  run(
      [&]() -> io::Op<> {
        SimClient& client = *co_await world_->connect();
        for (std::uint32_t i = 0; i < 4; ++i) client.send(Wire(i, 32, 0).with(call(i, proc_wait)));
        co_await world_->settle();
        EXPECT_FALSE(client.disconnected);
        client.send(Wire(9, 32, 0).with(call(9, proc_wait)));
        co_await world_->settle();
        EXPECT_TRUE(client.disconnected);
        EXPECT_EQ(world_->metrics.closed_credits.value(), 1U);
        service_.release();
        co_await world_->settle();
      },
      options);
}

TEST_F(ConnectionTest, answers_that_a_client_does_not_take_use_up_its_credits) {
  WorldOptions options;
  options.rdma.credits = 4;
  options.rdma.back_credits = 2;
  for (const Bytes& message :
       {Wire(7, 4, 0).with(call(7, proc_null)), words({7, 1, 4, 9, 0, 0, 0}), words({7, 2, 4, 0, 0, 0, 0})}) {
    run(
        [&]() -> io::Op<> {
          const ClientOptions one_receive{.receives = 1};
          world_->host.set_copied_max(0);
          SimClient& client = *co_await world_->connect(one_receive);
          client.receives_again = false;
          // One is taken, 4 answers are on their way, and 6 messages wait in the receives.
          for (int i = 0; i < 11; ++i) client.send(message);
          co_await world_->settle();
          EXPECT_FALSE(client.disconnected);
          EXPECT_EQ(client.messages.size(), 1U);
          client.send(message);
          co_await world_->settle();
          EXPECT_TRUE(client.disconnected);
          EXPECT_EQ(world_->metrics.closed_credits.value(), 1U);
        },
        options);
  }
}

// It has the replies before the server learns that they came.
TEST_F(ConnectionTest, a_client_within_its_credits_may_be_ahead_of_the_completions_of_its_replies) {
  WorldOptions options;
  options.rdma.credits = 4;
  run(
      [&]() -> io::Op<> {
        world_->host.set_copied_max(0);
        SimClient& client = *co_await world_->connect();
        world_->host.hold_completions(true);
        for (std::uint32_t i = 0; i < 8; ++i) {
          if (i == 4) co_await world_->settle();
          client.send(Wire(i, 4, 0).with(call(i, proc_null)));
        }
        co_await world_->settle();
        EXPECT_EQ(client.messages.size(), 4U);
        EXPECT_FALSE(client.disconnected);
        world_->host.hold_completions(false);
        co_await world_->settle();
        EXPECT_EQ(client.messages.size(), 8U);
      },
      options);
}

TEST_F(ConnectionTest, a_call_that_asks_for_no_credits_gets_the_usual) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    client.send(Wire(7, 0, 0).with(call(7, proc_null)));
    const Bytes answer = co_await answer_to(client);
    EXPECT_EQ(answer, joined(words({7, 1, credits_max, 0, 0, 0, 0}), success(7)));
  });
}

TEST_F(ConnectionTest, calls_overtake_each_other_and_an_xid_may_be_used_twice) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    const Offer first = client.writable(10);
    const Offer second = client.writable(10);
    client.send(Wire(7, 32, 0).write({first.segment()}).with(call(7, proc_wait)));
    client.send(Wire(7, 32, 0).write({second.segment()}).with(call(7, proc_read, words({1, 10}))));
    co_await world_->settle();
    EXPECT_EQ(client.messages.size(), 1U);
    EXPECT_EQ(second.content(), patterned(10));
    service_.release();
    co_await world_->settle();
    if (client.messages.size() == 2) {
      EXPECT_EQ(client.messages[1], Wire(7, credits_max, 0).write({first.segment(0, 0)}).with(success(7)));
    }
    EXPECT_EQ(client.messages.size(), 2U);
  });
}

}  // namespace
}  // namespace braid::rdma
