// Calls from the server to the peer of a connection that it accepted.
#include "rpc/back_channel.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/manual/manual_clock.h"
#include "io/gate.h"
#include "rpc/memory/memory_transport.h"
#include "rpc/session.h"
#include "tests/unit/rpc/bytes.h"
#include "tests/unit/rpc/loop.h"

namespace braid::rpc {
namespace {

using base::Bytes;
using test::words;

constexpr std::uint32_t program_number = 0x2000'0201;

// Procedure 1 keeps the way back to its caller; procedure 2 does nothing.
class Remembering final : public Service {
 public:
  BackChannelRef way_back;
  std::uint64_t connection = 0;
};

io::Op<Answer> remember(Service& service, Call& call, Reply& reply) {
  auto& self = static_cast<Remembering&>(service);
  self.way_back = call.session->back_channel();
  self.connection = call.session->number();
  reply.begin();
  return Answer::success;
}

io::Op<Answer> nothing(Service&, Call&, Reply& reply) {
  reply.begin();
  return Answer::success;
}

constexpr Procedure procedures[] = {{.name = "NULL"}, {"REMEMBER", remember}, {"NOTHING", nothing}};
constexpr Version versions[] = {{1, procedures}};

// The client's end.
class CalledPeer final : public Receiver {
 public:
  bool ready(Connection&) override { return true; }
  void on_message(Connection&, io::Payload message, base::TimePoint) override {
    messages.push_back(test::bytes_of(message));
  }
  void on_sent(Connection&, std::size_t) override {}
  [[nodiscard]] bool idle() const override { return true; }
  void on_closed(Connection&) override {}
  std::vector<Bytes> messages;
};

class BackChannelTest : public testing::Test {
 protected:
  template <class Body>
  void serve(Body body) {
    loop_.run([&]() -> io::Op<> {
      worker_.emplace(server_, loop_.reactor(), pool_);
      pair_.set_client_receiver(peer_);
      pair_.set_server_receiver(worker_->on_connected(pair_.server_end()));
      co_await body();
      pair_.client_end().close();
      co_await settle();
      EXPECT_TRUE(pair_.ended());
      EXPECT_EQ(worker_->sessions(), 0U);
      co_await gate_.drained();
      worker_.reset();
    });
    EXPECT_EQ(server_.budget().used(), 0);
  }
  io::Op<> settle() {
    for (int i = 0; i < 1000; ++i) co_await loop_.reactor().yield();
  }
  void send(const Bytes& message) {
    xdr::Message out;
    out.bytes = test::payload_of(pool_, message);
    pair_.client_end().send(std::move(out));
  }
  using Outcome = std::optional<base::Result<Bytes, CallError>>;
  // The results arrive at `out`.
  void call_back(Outcome& out) { io::spawn(gate_, keep(out, service_.way_back.lock())); }
  static io::Op<> keep(Outcome& out, std::shared_ptr<BackChannel> channel) {
    const auto results =
        co_await channel->client().call({7, 1, 3}, {}, [](xdr::Encoder& args) { args.u32(99); }).as_result();
    if (results) {
      Bytes all = test::bytes_of(results->message);
      out = Bytes(all.begin() + static_cast<std::ptrdiff_t>(results->offset), all.end());
    } else {
      out = base::fail(results.error());
    }
  }
  static Bytes call(std::uint32_t xid, std::uint32_t procedure) {
    return test::call_of(xid, program_number, 1, procedure);
  }
  // The server's call that arrived last: its xid.
  std::uint32_t xid_of_call() {
    const Bytes& message = peer_.messages.back();
    EXPECT_EQ(Bytes(message.begin() + 4, message.end()), words({0, 2, 7, 1, 3, 0, 0, 0, 0, 99}));
    return test::u32_at(message, 0);
  }

  base::ManualClock clock_;
  base::MetricRegistry registry_;
  io::SlabPool pool_{{.bytes_max = 64 * base::MiB, .huge_pages = false}};
  Remembering service_;
  Program program_{.number = program_number, .name = "TEST", .versions = versions, .service = &service_};
  Server server_{{}, {&program_, 1}, registry_, base::SipKey{1, 2}};
  test::Loop loop_{clock_};
  MemoryPair pair_{{}, {}, clock_};
  CalledPeer peer_;
  std::optional<ServerWorker> worker_;
  io::Gate gate_;
};

TEST_F(BackChannelTest, both_sides_call_over_one_connection) {
  serve([&]() -> io::Op<> {
    send(call(1, 1));
    co_await settle();
    EXPECT_EQ(peer_.messages.size(), 1U);
    EXPECT_NE(service_.connection, 0U);
    EXPECT_TRUE(service_.way_back.alive());

    Outcome first;
    call_back(first);
    co_await settle();
    EXPECT_EQ(peer_.messages.size(), 2U);
    const std::uint32_t xid = xid_of_call();
    // A call of the peer's own under the same number, before its reply.
    send(call(xid, 2));
    co_await settle();
    EXPECT_EQ(peer_.messages.back(), words({xid, 1, 0, 0, 0, 0}));
    EXPECT_FALSE(first);
    send(words({xid, 1, 0, 0, 0, 0, 55}));
    co_await settle();
    EXPECT_TRUE(first && *first && **first == words({55}));
  });
}

TEST_F(BackChannelTest, a_connection_that_ends_ends_the_calls_over_it) {
  serve([&]() -> io::Op<> {
    send(call(1, 1));
    co_await settle();
    Outcome out;
    call_back(out);
    co_await settle();
    EXPECT_FALSE(out);
    pair_.client_end().close();
    co_await settle();
    EXPECT_TRUE(out && !*out && out->error() == CallError::closed);
    EXPECT_FALSE(service_.way_back.alive());
    EXPECT_EQ(service_.way_back.lock(), nullptr);
  });
}

TEST_F(BackChannelTest, a_reply_to_nobody_changes_nothing) {
  serve([&]() -> io::Op<> {
    send(words({5, 1, 0, 0, 0, 0}));
    send(call(1, 1));
    co_await settle();
    send(words({5, 1, 0, 0, 0, 0}));
    send(call(2, 2));
    co_await settle();
    EXPECT_EQ(peer_.messages.size(), 2U);
    EXPECT_EQ(peer_.messages.back(), words({2, 1, 0, 0, 0, 0}));
  });
}

}  // namespace
}  // namespace braid::rpc
