// The calling side against a server that is scripted: when memory is offered, and servers that break the
// rules.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "rdma/chunks.h"
#include "rdma/header.h"
#include "tests/unit/rdma/client_fixture.h"

namespace braid::rdma {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): the words of these tests
using base::Bytes;

constexpr std::uint32_t first_xid = 101;

rpc::CallOptions room(std::uint32_t item_bytes, std::uint32_t rest_bytes) {
  rpc::CallOptions options;
  if (item_bytes > 0) options.room.items.at(options.room.item_count++) = item_bytes;
  options.room.rest_bytes = rest_bytes;
  return options;
}
Bytes success(std::uint32_t xid, const Bytes& results = {}) {
  Bytes out = words({xid, 1, 0, 0, 0, 0});
  append(out, results);
  return out;
}
Segment part(const Segment& of, std::uint32_t bytes) { return {of.key, bytes, of.address}; }

class ClientScriptTest : public ScriptedTest {
 protected:
  // The chunks of a call that the server has got.
  const Chunks& chunks_of(const Bytes& call) {
    message_ = payload_of(caller_->pool, call);
    arena_.emplace();
    EXPECT_EQ(decode_header(message_, *arena_, header_), HeaderVerdict::message);
    EXPECT_FALSE(chunks_.parse(header_.lists, {10'000'000}));
    message_.clear();
    return chunks_;
  }
  Segment write_segment(std::size_t call) {
    const Chunks& chunks = chunks_of(server_->calls.at(call));
    return chunks.segments(chunks.writes()[0])[0];
  }
  Segment reply_segment(std::size_t call) {
    const Chunks& chunks = chunks_of(server_->calls.at(call));
    return chunks.segments(*chunks.reply())[0];
  }
  void start(Caller::Outcome& out, const rpc::CallOptions& options) {
    caller_->start(out, 1, options, no_arguments);
  }
  void start_write(Caller::Outcome& out, std::size_t bytes, const rpc::CallOptions& options = {}) {
    const io::Payload data = caller_->payload(Bytes(bytes, std::byte{5}));
    caller_->start(out, 2, options, [data](xdr::Encoder& encoder) { encoder.ddp_payload(data); });
  }
  static bool is(const Caller::Outcome& outcome, rpc::CallError error) {
    return outcome && !outcome->has_value() && outcome->error() == error;
  }

  io::Payload message_;
  std::optional<xdr::Arena> arena_;
  Header header_;
  Chunks chunks_;
};

TEST_F(ClientScriptTest, what_the_device_does_not_flush_is_taken_back_when_its_time_has_passed) {
  run([&]() -> io::Op<> {
    client_host_.never_flush();
    server_->disconnect();
    co_await settle();
    EXPECT_EQ(caller_->connector.connections(), 1U);
    clock_.advance(std::chrono::seconds(6));
    caller_->connector.check_limits();
    co_await settle();
    EXPECT_EQ(caller_->connector.connections(), 0U);
  });
}

TEST_F(ClientScriptTest, connecting_tells_the_server_what_the_client_is) {
  run([&]() -> io::Op<> {
    EXPECT_EQ(server_->client, (PrivateData{4096, 4096, true}));
    EXPECT_EQ(server_->reads_in, 16U);
    co_return;
  });
}

TEST_F(ClientScriptTest, a_call_has_the_bytes_of_the_rfc) {
  run([&]() -> io::Op<> {
    Caller::Outcome out;
    start_write(out, 5001, room(100'000, 5000));
    co_await settle();
    const Bytes& got = server_->calls.at(0);
    const Chunks& chunks = chunks_of(got);
    const Segment source = chunks.segments(chunks.reads()[0])[0];
    const Segment sink = chunks.segments(chunks.writes()[0])[0];
    const Segment reply = chunks.segments(*chunks.reply())[0];
    Bytes message = rpc::test::call_of(first_xid, Caller::program, 1, 2, words({5001}));
    EXPECT_EQ(got, Wire(first_xid, 128, 0).read(44, source).write({sink}).reply({reply}).with(message));
    EXPECT_EQ(source.bytes, 5001U);
    EXPECT_EQ(sink.bytes, 100'000U);
    EXPECT_EQ(reply.bytes, 5024U);
    server_->disconnect();
    co_await settle();
  });
}

TEST_F(ClientScriptTest, rights_and_bounds_of_what_is_offered_are_exact) {
  for (const int attempt : {0, 1, 2, 3, 4}) {
    run([&]() -> io::Op<> {
      Caller::Outcome out;
      start_write(out, 5000, room(6000, 100));
      co_await settle();
      const Chunks& chunks = chunks_of(server_->calls.at(0));
      const Segment source = chunks.segments(chunks.reads()[0])[0];
      const Segment sink = chunks.segments(chunks.writes()[0])[0];
      if (attempt == 0) server_->read(source);
      if (attempt == 1) server_->read(sink);
      if (attempt == 2) server_->write(source, Bytes(8));
      if (attempt == 3) server_->write(sink, Bytes(6001));
      if (attempt == 4) server_->read({source.key, 5000, source.address + 1});
      co_await settle();
      EXPECT_EQ(server_->results.back(), attempt == 0 ? WorkStatus::success : WorkStatus::remote_access);
      if (attempt == 0) {
        EXPECT_EQ(server_->read_last, Bytes(5000, std::byte{5}));
      }
      server_->disconnect();
      co_await settle();
    });
  }
}

TEST_F(ClientScriptTest, nothing_is_offered_any_more_when_a_call_has_ended) {
  run([&]() -> io::Op<> {
    Caller::Outcome out;
    start_write(out, 5000, room(6000, 100));
    co_await settle();
    EXPECT_EQ(offered(), 2U);
    const Segment sink = write_segment(0);
    server_->write(sink, Bytes(6000, std::byte{1}));
    server_->send(Wire(first_xid, 10, 0).write({sink}).with(success(first_xid, words({6000}))));
    // At the first moment that the outcome is there.
    for (int i = 0; i < 1000 && !out; ++i) co_await loop_->reactor().yield();
    EXPECT_TRUE(out && out->has_value());
    EXPECT_EQ(offered(), 0U);
    server_->write(sink, Bytes(6000, std::byte{2}));
    co_await settle();
    EXPECT_EQ(server_->results.back(), WorkStatus::remote_access);
    EXPECT_EQ(bytes_of((*out)->apart.at(0)), Bytes(6000, std::byte{1}));
    out.reset();
  });
}

TEST_F(ClientScriptTest, a_key_that_the_server_has_invalidated_is_of_no_use_to_it) {
  run([&]() -> io::Op<> {
    Caller::Outcome out;
    start(out, room(6000, 100));
    co_await settle();
    const Segment sink = write_segment(0);
    server_->send(Wire(first_xid, 10, 0).write({part(sink, 0)}).with(success(first_xid, words({0}))),
                  sink.key);
    co_await settle();
    EXPECT_TRUE(out && out->has_value());
    EXPECT_EQ(offered(), 0U);
    out.reset();
  });
}

TEST_F(ClientScriptTest, one_call_until_the_server_has_granted_more_and_never_more_than_that) {
  run([&]() -> io::Op<> {
    std::vector<Caller::Outcome> outs(10);
    for (Caller::Outcome& out : outs) start(out, room(6000, 100));
    co_await settle();
    EXPECT_EQ(server_->calls.size(), 1U);
    EXPECT_EQ(offered(), 1U);  // calls that wait offer nothing
    server_->send(Wire(first_xid, 3, 0).with(success(first_xid)));
    co_await settle();
    EXPECT_EQ(server_->calls.size(), 4U);
    EXPECT_EQ(offered(), 3U);
    server_->send(Wire(first_xid + 1, 1, 0).with(success(first_xid + 1)));
    co_await settle();
    EXPECT_EQ(server_->calls.size(), 4U);
    // A grant of nothing would be for ever.
    server_->send(Wire(first_xid + 2, 0, 0).with(success(first_xid + 2)));
    server_->send(Wire(first_xid + 3, 0, 0).with(success(first_xid + 3)));
    co_await settle();
    EXPECT_EQ(server_->calls.size(), 5U);
    server_->disconnect();
    co_await settle();
    EXPECT_TRUE(is(outs[9], rpc::CallError::closed));
    outs.clear();
  });
}

TEST_F(ClientScriptTest, a_server_that_says_nothing_of_itself_gets_messages_of_1024_bytes) {
  private_data_.reset();
  run([&]() -> io::Op<> {
    Caller::Outcome out;
    start_write(out, 1024 - plain_header_bytes - 44 + 4);
    co_await settle();
    EXPECT_EQ(chunks_of(server_->calls.at(0)).reads().size(), 1U);
    server_->disconnect();
    co_await settle();
  });
}

TEST_F(ClientScriptTest, a_call_that_timed_out_offers_nothing_and_its_late_reply_is_dropped) {
  run([&]() -> io::Op<> {
    Caller::Outcome late;
    Caller::Outcome next;
    rpc::CallOptions options = room(6000, 100);
    options.timeout = std::chrono::seconds(5);
    start(late, options);
    start(next, room(0, 0));
    co_await settle();
    const Segment sink = write_segment(0);
    clock_.advance(std::chrono::seconds(6));
    for (int i = 0; i < 100'000 && !late; ++i) co_await loop_->reactor().yield();
    EXPECT_TRUE(is(late, rpc::CallError::timed_out));
    EXPECT_EQ(offered(), 0U);
    // The server still works on it: its credit is not free.
    EXPECT_EQ(server_->calls.size(), 1U);
    server_->send(Wire(first_xid, 2, 0).write({part(sink, 0)}).with(success(first_xid)));
    co_await settle();
    EXPECT_EQ(server_->calls.size(), 2U);
    server_->send(Wire(first_xid + 1, 2, 0).with(success(first_xid + 1)));
    co_await settle();
    EXPECT_TRUE(next && next->has_value());
    next.reset();
  });
}

TEST_F(ClientScriptTest, a_call_that_timed_out_before_it_had_a_credit_is_never_sent) {
  run([&]() -> io::Op<> {
    Caller::Outcome first;
    Caller::Outcome late;
    start(first, room(0, 0));
    rpc::CallOptions options;
    options.timeout = std::chrono::seconds(5);
    start(late, options);
    co_await settle();
    clock_.advance(std::chrono::seconds(6));
    for (int i = 0; i < 100'000 && !late; ++i) co_await loop_->reactor().yield();
    server_->send(Wire(first_xid, 2, 0).with(success(first_xid)));
    co_await settle();
    EXPECT_EQ(server_->calls.size(), 1U);
    EXPECT_TRUE(first && first->has_value());
    first.reset();
  });
}

TEST_F(ClientScriptTest, when_the_connection_is_lost_nothing_is_offered_before_calls_end) {
  run([&]() -> io::Op<> {
    Caller::Outcome out;
    start_write(out, 5000, room(6000, 5000));
    co_await settle();
    EXPECT_EQ(offered(), 3U);
    server_->disconnect();
    for (int i = 0; i < 1000 && !out; ++i) {
      co_await loop_->reactor().yield();
      if (out) {
        EXPECT_EQ(offered(), 0U);
      }
    }
    EXPECT_TRUE(is(out, rpc::CallError::closed));
  });
}

TEST_F(ClientScriptTest, a_send_that_has_not_completed_keeps_the_connection_until_it_has) {
  run([&]() -> io::Op<> {
    client_host_.hold_completions(true);
    Caller::Outcome out;
    start_write(out, 5000);
    co_await settle();
    server_->disconnect();
    co_await settle();
    EXPECT_EQ(offered(), 0U);
    EXPECT_FALSE(out);
    EXPECT_EQ(caller_->connector.connections(), 1U);
    client_host_.hold_completions(false);
    co_await settle();
    EXPECT_TRUE(is(out, rpc::CallError::closed));
    EXPECT_EQ(caller_->connector.connections(), 0U);
  });
}

TEST_F(ClientScriptTest, a_server_that_acknowledges_nothing_loses_the_connection) {
  run([&]() -> io::Op<> {
    client_host_.hold_completions(true);
    Caller::Outcome out;
    rpc::CallOptions options = room(6000, 0);
    options.timeout = std::chrono::hours(1);
    start(out, options);
    co_await settle();
    clock_.advance(std::chrono::seconds(61));
    caller_->connector.check_limits();
    EXPECT_EQ(offered(), 0U);
    client_host_.hold_completions(false);
    co_await settle();
    EXPECT_TRUE(is(out, rpc::CallError::closed));
  });
}

TEST_F(ClientScriptTest, a_call_that_the_device_does_not_send_ends_the_connection) {
  using sim::Fault;
  const Fault failure{.opcode = Opcode::send, .status = WorkStatus::fatal};
  const Fault loss{.opcode = Opcode::send, .kind = Fault::Kind::disconnect};
  for (const int attempt : {0, 1, 2}) {
    run([&]() -> io::Op<> {
      if (attempt == 0) client_host_.refuse_posts(1);
      if (attempt == 1) client_host_.inject(failure);
      if (attempt == 2) client_host_.inject(loss);
      Caller::Outcome out;
      start_write(out, 5000, room(6000, 0));
      co_await settle();
      EXPECT_TRUE(is(out, rpc::CallError::closed)) << attempt;
      EXPECT_EQ(offered(), 0U);
      EXPECT_EQ(caller_->connector.connections(), 0U);
    });
  }
}

TEST_F(ClientScriptTest, closing_ends_calls_and_connections_that_are_not_yet_made) {
  run([&]() -> io::Op<> {
    Caller::Outcome out;
    start(out, room(6000, 0));
    rpc::Client other(loop_->reactor(), pool_, 1);
    base::Result<void> connected;
    io::Gate gate;
    const auto connect = [&]() -> io::Op<> {
      connected = co_await caller_->connector.connect(server_->address(), other).as_result();
    };
    io::spawn(gate, connect());
    co_await caller_->connector.close();
    co_await gate.drained();
    EXPECT_EQ(connected, base::fail(ECONNREFUSED));
    co_await settle();
    EXPECT_TRUE(is(out, rpc::CallError::closed));
    auto late = co_await caller_->connector.connect(server_->address(), other).as_result();
    EXPECT_EQ(late, base::fail(ECANCELED));
  });
}

TEST_F(ClientScriptTest, a_call_of_the_server_is_dropped) {
  run([&]() -> io::Op<> {
    server_->send(Wire(9, 1, 0).with(rpc::test::call_of(9, 1, 1, 1)));
    server_->send(words({9, 1, 1, 3}));  // RDMA_DONE
    server_->send(words({9, 1, 1}));     // no header
    co_await settle();
    Caller::Outcome out;
    start(out, room(0, 0));
    co_await settle();
    server_->send(Wire(first_xid, 1, 0).with(success(first_xid)));
    co_await settle();
    EXPECT_TRUE(out && out->has_value());
    out.reset();
  });
}

TEST_F(ClientScriptTest, an_error_of_the_server_fails_the_call_and_takes_back_its_memory) {
  for (const Bytes& error : {words({first_xid, 1, 1, 4, 2}), words({first_xid, 1, 1, 4, 1, 1, 1}),
                             words({first_xid, 1, 1, 4, 77})}) {
    run([&]() -> io::Op<> {
      Caller::Outcome out;
      start(out, room(6000, 0));
      co_await settle();
      server_->send(error);
      co_await settle();
      EXPECT_TRUE(is(out, rpc::CallError::refused));
      EXPECT_EQ(offered(), 0U);
      EXPECT_TRUE(caller_->client.connected());
    });
  }
}

TEST_F(ClientScriptTest, connecting_to_a_server_that_refuses_fails) {
  run([&]() -> io::Op<> {
    server_->refuses = true;
    rpc::Client other(loop_->reactor(), caller_->pool, 1);
    auto refused = co_await caller_->connector.connect(server_->address(), other).as_result();
    EXPECT_TRUE(!refused && refused.error() == base::errno_of(ECONNREFUSED));
    auto nobody = co_await caller_->connector.connect({.bytes = {}, .port = 9}, other).as_result();
    EXPECT_FALSE(nobody.has_value());
    EXPECT_FALSE(other.connected());
    EXPECT_EQ(caller_->connector.connections(), 1U);
  });
}

TEST_F(ClientScriptTest, bytes_behind_a_gap_end_the_connection) {
  const RdmaClientOptions options{.segment_bytes_max = 4096};
  for (const bool gap : {false, true}) {
    run(
        [&]() -> io::Op<> {
          Caller::Outcome out;
          start(out, room(6000, 0));
          co_await settle();
          const Chunks& chunks = chunks_of(server_->calls.at(0));
          const Segment first = chunks.segments(chunks.writes()[0])[0];
          const Segment second = chunks.segments(chunks.writes()[0])[1];
          Wire reply(first_xid, 1, 0);
          reply.write({gap ? part(first, 4095) : first, part(second, 1)});
          server_->send(reply.with(success(first_xid, words({4097}))));
          co_await settle();
          EXPECT_EQ(is(out, rpc::CallError::closed), gap);
          EXPECT_EQ(caller_->client.connected(), !gap);
          out.reset();
        },
        options);
  }
}

// Replies that break the rules: the connection ends, the call with it, and nothing stays offered.
struct BadReply {
  const char* name;
  std::function<Bytes(const Segment& sink, const Segment& reply)> bytes;
};

class BadReplyTest : public ClientScriptTest, public testing::WithParamInterface<BadReply> {};

TEST_P(BadReplyTest, ends_the_connection) {
  run([&]() -> io::Op<> {
    Caller::Outcome out;
    start(out, room(6000, 5000));
    co_await settle();
    const Segment sink = write_segment(0);
    const Segment reply = reply_segment(0);
    server_->send(GetParam().bytes(sink, reply));
    co_await settle();
    EXPECT_TRUE(is(out, rpc::CallError::closed));
    EXPECT_EQ(offered(), 0U);
    EXPECT_TRUE(server_->disconnected);
  });
}

Segment moved(Segment of, std::uint32_t key, std::uint64_t address, std::uint32_t bytes) {
  return {RemoteKey(of.key.value() + key), of.bytes + bytes, of.address + address};
}

const BadReply bad_replies[] = {
    {"unknown_xid", [](const Segment&, const Segment&) { return Wire(7, 1, 0).with(success(7)); }},
    {"two_xids",
     [](const Segment&, const Segment&) { return Wire(first_xid, 1, 0).with(success(first_xid + 1)); }},
    {"error_of_no_call", [](const Segment&, const Segment&) { return words({7, 1, 1, 4, 2}); }},
    {"version", [](const Segment&, const Segment&) { return words({first_xid, 2, 1, 0, 0, 0, 0}); }},
    {"endless_lists", [](const Segment&, const Segment&) { return words({first_xid, 1, 1, 0, 0, 1, 9}); }},
    {"read_list",
     [](const Segment& sink, const Segment&) {
       return Wire(first_xid, 1, 0).read(4, sink).with(success(first_xid));
     }},
    {"more_write_chunks",
     [](const Segment& sink, const Segment&) {
       return Wire(first_xid, 1, 0).write({sink}).write({sink}).with(success(first_xid));
     }},
    {"more_segments",
     [](const Segment& sink, const Segment&) {
       return Wire(first_xid, 1, 0).write({sink, sink}).with(success(first_xid));
     }},
    {"no_segments",
     [](const Segment&, const Segment&) { return Wire(first_xid, 1, 0).write({}).with(success(first_xid)); }},
    {"another_key",
     [](const Segment& sink, const Segment&) {
       return Wire(first_xid, 1, 0).write({moved(sink, 1, 0, 0)}).with(success(first_xid));
     }},
    {"another_address",
     [](const Segment& sink, const Segment&) {
       return Wire(first_xid, 1, 0).write({moved(sink, 0, 1, 0)}).with(success(first_xid));
     }},
    {"more_bytes",
     [](const Segment& sink, const Segment&) {
       return Wire(first_xid, 1, 0).write({moved(sink, 0, 0, 1)}).with(success(first_xid));
     }},
    {"longer_reply",
     [](const Segment&, const Segment& reply) {
       return Wire(first_xid, 1, 1).reply({moved(reply, 0, 0, 1)}).with();
     }},
    {"no_message", [](const Segment&, const Segment&) { return Wire(first_xid, 1, 1).with(); }},
    {"empty_reply_chunk",
     [](const Segment&, const Segment& reply) {
       return Wire(first_xid, 1, 1).reply({part(reply, 0)}).with();
     }},
    {"two_messages",
     [](const Segment&, const Segment& reply) {
       return Wire(first_xid, 1, 0).reply({part(reply, 24)}).with(success(first_xid));
     }},
    {"reply_chunk_for_a_write_chunk",
     [](const Segment& sink, const Segment&) {
       return Wire(first_xid, 1, 1).reply({part(sink, 24)}).with();
     }},
};

INSTANTIATE_TEST_SUITE_P(Replies, BadReplyTest, testing::ValuesIn(bad_replies),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace braid::rdma
