#include "rpc/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "base/manual/manual_clock.h"
#include "io/gate.h"
#include "rpc/memory/memory_transport.h"
#include "rpc/tcp_connect.h"
#include "tests/unit/rpc/loop.h"
#include "tests/unit/rpc/tcp_fixture.h"
#include "tests/unit/rpc/test_program.h"

namespace braid::rpc {
namespace {

using namespace std::chrono_literals;
using base::Bytes;
using base::BytesView;
using test::words;

const auto no_arguments = [](xdr::Encoder&) {};

ProcedureId id_of(std::uint32_t procedure, std::uint32_t version = test::version_low) {
  return {test::program_number, version, procedure};
}

// A server's end that the test plays itself.
class Script final : public Receiver {
 public:
  bool ready(Connection&) override { return true; }
  void on_message(Connection&, io::Payload message, base::TimePoint) override {
    calls.push_back(test::bytes_of(message));
  }
  void on_sent(Connection&, std::size_t) override {}
  [[nodiscard]] bool idle() const override { return true; }
  void on_closed(Connection&) override { closed = true; }
  std::vector<Bytes> calls;
  bool closed = false;
};

class ClientTest : public testing::Test {
 protected:
  ClientTest()
      : pool_({.bytes_max = 64 * base::MiB, .huge_pages = false}),
        loop_(clock_),
        pair_({}, {}, clock_),
        client_(loop_.reactor(), pool_, 1000) {}

  template <class Body>
  void run(Body body) {
    loop_.run([&]() -> io::Op<> {
      pair_.set_client_receiver(client_);
      pair_.set_server_receiver(script_);
      client_.attach(pair_.client_end());
      co_await body();
      co_await client_.close();
      co_await settle();
      co_await gate_.drained();
    });
    EXPECT_EQ(client_.outstanding(), 0U);
  }
  io::Op<> settle() {
    for (int i = 0; i < 20; ++i) co_await loop_.reactor().yield();
  }
  void answer(const Bytes& reply) {
    xdr::Message message;
    message.bytes = test::payload_of(pool_, reply);
    pair_.server_end().send(std::move(message));
  }
  // Starts a call whose outcome arrives at `out`.
  using Outcome = std::optional<base::Result<Results, CallError>>;
  void start(Outcome& out, CallOptions options = {}, std::uint32_t procedure = 1) {
    io::spawn(gate_, keep(out, client_.call(id_of(procedure), options, no_arguments)));
  }
  static io::Op<> keep(Outcome& out, CallOp<Results> call) { out = co_await std::move(call).as_result(); }

  base::ManualClock clock_;
  io::SlabPool pool_;
  test::Loop loop_;
  MemoryPair pair_;
  Script script_;
  Client client_;
  io::Gate gate_;
};

TEST_F(ClientTest, a_call_has_the_bytes_of_the_rfc) {
  run([&]() -> io::Op<> {
    AuthSys sys{.stamp = 9, .machinename = "host5", .uid = 1, .gid = 2, .group_count = 2};
    sys.group_list = {3, 4};
    Outcome out;
    start(out, {.auth = sys}, 7);
    co_await settle();
    EXPECT_EQ(script_.calls.size(), 1U);
    EXPECT_EQ(script_.calls[0], words({1001, 0, 2, test::program_number, 2, 7, 1, 36, 9, 5, 0x686f7374,
                                       0x35000000, 1, 2, 2, 3, 4, 0, 0}));
  });
}

TEST_F(ClientTest, items_that_came_apart_from_a_reply_take_their_places) {
  run([&]() -> io::Op<> {
    Outcome out;
    start(out);
    co_await settle();
    std::vector<io::Payload> apart;
    apart.push_back(test::payload_of(pool_, words({7})));
    client_.on_reduced_reply(pair_.client_end(), test::payload_of(pool_, words({1001, 1, 0, 0, 0, 0, 4, 8})),
                             std::move(apart), clock_.now());
    co_await settle();
    EXPECT_TRUE(out && *out);
    xdr::Arena arena;
    xdr::Decoder in = (*out)->decoder(arena);
    io::Payload item;
    std::uint32_t after = 0;
    EXPECT_TRUE(in.ddp_payload(item, 4) && in.u32(after));
    EXPECT_EQ(test::bytes_of(item), words({7}));
    EXPECT_EQ(after, 8U);
    out.reset();
  });
}

TEST_F(ClientTest, a_call_that_the_transport_cannot_carry_fails_alone) {
  run([&]() -> io::Op<> {
    Outcome refused;
    Outcome other;
    start(refused);
    start(other);
    co_await settle();
    client_.on_call_failed(pair_.client_end(), 1001, CallError::refused);
    client_.on_call_failed(pair_.client_end(), 77, CallError::refused);
    co_await settle();
    EXPECT_TRUE(refused && !*refused && refused->error() == CallError::refused);
    EXPECT_FALSE(other);
  });
}

TEST_F(ClientTest, replies_find_their_calls_in_any_order) {
  run([&]() -> io::Op<> {
    constexpr std::size_t calls = 200;
    std::vector<Outcome> outcomes(calls);
    for (Outcome& outcome : outcomes) start(outcome);
    co_await settle();
    EXPECT_EQ(client_.outstanding(), calls);
    for (std::size_t i = calls; i-- > 0;) {
      const std::uint32_t xid = test::u32_at(script_.calls[i], 0);
      answer(words({xid, 1, 0, 0, 0, 0, xid + 1}));
    }
    co_await settle();
    for (std::size_t i = 0; i < calls; ++i) {
      EXPECT_TRUE(outcomes[i] && *outcomes[i]) << i;
      if (!outcomes[i] || !*outcomes[i]) continue;
      xdr::Arena arena;
      xdr::Decoder in = (*outcomes[i])->decoder(arena);
      std::uint32_t value = 0;
      EXPECT_TRUE(in.u32(value));
      EXPECT_EQ(value, test::u32_at(script_.calls[i], 0) + 1);
    }
  });
}

TEST_F(ClientTest, every_refusal_has_its_error) {
  const struct {
    Bytes rest;  // behind the xid
    CallError error;
  } cases[] = {
      {words({1, 0, 0, 0, 1}), CallError::prog_unavail},
      {words({1, 0, 0, 0, 2, 1, 3}), CallError::prog_mismatch},
      {words({1, 0, 0, 0, 3}), CallError::proc_unavail},
      {words({1, 0, 0, 0, 4}), CallError::garbage_args},
      {words({1, 0, 0, 0, 5}), CallError::system_err},
      {words({1, 1, 0, 2, 2}), CallError::rpc_mismatch},
      {words({1, 1, 1, 5}), CallError::auth_error},
      {words({1, 0, 0, 0, 6}), CallError::malformed},
      {words({1, 2}), CallError::malformed},
      {words({1, 0, 0, 0xffffffff}), CallError::malformed},
      {words({1}), CallError::malformed},
      {words({0, 2}), CallError::malformed},
      {{}, CallError::malformed},
  };
  run([&]() -> io::Op<> {
    for (const auto& one : cases) {
      Outcome out;
      start(out);
      co_await settle();
      Bytes reply(script_.calls.back().begin(), script_.calls.back().begin() + 4);
      test::append(reply, one.rest);
      answer(reply);
      co_await settle();
      EXPECT_TRUE(out && !*out);
      if (out && !*out) {
        EXPECT_EQ(out->error(), one.error) << name_of(one.error);
      }
    }
  });
}

TEST_F(ClientTest, a_reply_to_nobody_is_dropped) {
  run([&]() -> io::Op<> {
    Outcome out;
    start(out);
    co_await settle();
    answer(words({77, 1, 0, 0, 0, 0}));
    answer(words({1001 + 64, 1, 0, 0, 0, 0}));  // the same place in the table
    answer(Bytes(3));
    co_await settle();
    EXPECT_FALSE(out);
    answer(words({1001, 1, 0, 0, 0, 0}));
    co_await settle();
    EXPECT_TRUE(out && *out);
  });
}

TEST_F(ClientTest, an_ended_connection_ends_its_calls_and_refuses_new_ones) {
  run([&]() -> io::Op<> {
    std::array<Outcome, 3> outcomes;
    for (Outcome& outcome : outcomes) start(outcome);
    co_await settle();
    pair_.server_end().close();
    co_await settle();
    for (const Outcome& outcome : outcomes)
      EXPECT_TRUE(outcome && !*outcome && outcome->error() == CallError::closed);
    EXPECT_FALSE(client_.connected());
    Outcome late;
    start(late);
    co_await settle();
    EXPECT_TRUE(late && !*late && late->error() == CallError::closed);
  });
}

TEST_F(ClientTest, overdue_calls_end_and_their_late_replies_are_dropped) {
  run([&]() -> io::Op<> {
    Outcome slow;
    Outcome quick;
    start(slow, {.auth = {}, .timeout = 10s});
    start(quick, {.auth = {}, .timeout = 2s});
    co_await settle();
    clock_.advance(3s);
    co_await loop_.reactor().sleep(0s);
    co_await settle();
    EXPECT_TRUE(quick && !*quick && quick->error() == CallError::timed_out);
    EXPECT_FALSE(slow);
    answer(words({1002, 1, 0, 0, 0, 0}));
    answer(words({1001, 1, 0, 0, 0, 0}));
    co_await settle();
    EXPECT_TRUE(slow && *slow);
  });
}

class TcpClientTest : public testing::Test {
 protected:
  // Runs the body with a client connected to the server, on a loop of its own.
  template <class Body>
  void run(Body body) {
    test::Loop loop(clock_);
    loop.run([&]() -> io::Op<> {
      TcpWorker tcp(loop.reactor(), pool_, nullptr, TcpOptions{}, metrics_);
      {
        Client client(loop.reactor(), pool_, 1);
        client.attach(tcp.open(co_await tcp_connect(loop.reactor(), server_.address), client));
        co_await body(client);
        co_await client.close();
      }
      co_await tcp.close();
    });
  }

  base::SystemClock clock_;
  test::TcpServer server_;
  base::MetricRegistry registry_;
  TcpMetrics metrics_{registry_};
  io::SlabPool pool_{{.bytes_max = 128 * base::MiB, .huge_pages = false}};
};

TEST_F(TcpClientTest, calls_of_all_sizes_are_answered) {
  std::size_t answered = 0;
  run([&](Client& client) -> io::Op<> {
    for (const std::uint32_t size : {0U, 1U, 1000U, 65'536U, 1'000'000U}) {
      const Bytes data(size, std::byte{0x77});
      auto encode = [&](xdr::Encoder& out) { out.opaque(data); };
      auto results = co_await client.call(id_of(test::proc_echo), {}, encode).as_result();
      EXPECT_TRUE(results);
      if (!results) continue;
      EXPECT_TRUE(base::equal(
          BytesView(test::bytes_of(results->message)).subspan(results->offset + 4).first(size), data));
      ++answered;
    }
  });
  EXPECT_EQ(answered, 5U);
}

TEST_F(TcpClientTest, many_calls_are_pipelined) {
  std::size_t answered = 0;
  run([&](Client& client) -> io::Op<> {
    io::Gate gate;
    const auto one = [](Client& through, std::size_t& count) -> io::Op<> {
      for (int i = 0; i < 50; ++i) {
        auto encode = [](xdr::Encoder& out) { out.opaque(Bytes(10)); };
        auto results = co_await through.call(id_of(test::proc_sleepy), {}, encode).as_result();
        if (results) ++count;
      }
    };
    for (int i = 0; i < 40; ++i) io::spawn(gate, one(client, answered));
    co_await gate.drained();
  });
  EXPECT_EQ(answered, 2000U);
}

TEST_F(TcpClientTest, a_server_that_goes_ends_the_calls) {
  run([&](Client& client) -> io::Op<> {
    io::Gate gate;
    std::optional<CallError> error;
    const auto wait = [](Client& through, std::optional<CallError>& out) -> io::Op<> {
      auto results = co_await through.call(id_of(test::proc_wait), {}, no_arguments).as_result();
      if (!results) out = results.error();
    };
    io::spawn(gate, wait(client, error));
    std::jthread stopper([&] { server_.stop(20ms); });
    co_await gate.drained();
    EXPECT_EQ(error, CallError::closed);
  });
}

TEST_F(TcpClientTest, a_refused_connection_is_an_error) {
  const PeerAddress address = server_.address;
  server_.stop(1s);
  test::Loop loop(clock_);
  std::optional<base::Errno> error;
  loop.run([&]() -> io::Op<> {
    auto socket = co_await tcp_connect(loop.reactor(), address).as_result();
    if (!socket) error = socket.error();
  });
  EXPECT_EQ(error, base::errno_of(ECONNREFUSED));
}

}  // namespace
}  // namespace braid::rpc
