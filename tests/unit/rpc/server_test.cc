// The server over the in-memory transport: what is answered to what, and how much is taken in.
#include "rpc/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "base/manual/manual_clock.h"
#include "rpc/memory/memory_transport.h"
#include "rpc/rpc_msg.x.h"
#include "tests/unit/rpc/bytes.h"
#include "tests/unit/rpc/loop.h"
#include "tests/unit/rpc/test_program.h"

namespace braid::rpc {
namespace {

using base::Bytes;
using test::call_of;
using test::words;
using testing::ElementsAre;

PeerAddress address(std::uint8_t last, std::uint16_t port) {
  PeerAddress out;
  out.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, last};
  out.port = port;
  return out;
}

// The client's end of a connection: keeps every reply; may refuse to take them.
class Peer final : public Receiver {
 public:
  Peer(ServerWorker& worker, io::SlabPool& pool, const base::Clock& clock, const PeerAddress& from)
      : pool_(pool), pair_(from, address(1, 2049), clock) {
    pair_.set_client_receiver(*this);
    pair_.set_server_receiver(worker.on_connected(pair_.server_end()));
  }
  void send(const Bytes& message) {
    xdr::Message out;
    out.bytes = test::payload_of(pool_, message);
    pair_.client_end().send(std::move(out));
  }
  void take_replies(bool take) {
    taking_ = take;
    if (take) pair_.client_end().resume();
  }
  void close() { pair_.client_end().close(); }
  [[nodiscard]] bool ended() const { return pair_.ended(); }

  bool ready(Connection&) override { return taking_; }
  void on_message(Connection&, io::Payload message, base::TimePoint) override {
    replies.push_back(test::bytes_of(message));
  }
  void on_sent(Connection&, std::size_t bytes) override { taken_by_server += bytes; }
  [[nodiscard]] bool idle() const override { return true; }
  void on_closed(Connection&) override { closed = true; }

  std::vector<Bytes> replies;
  std::size_t taken_by_server = 0;
  bool closed = false;

 private:
  io::SlabPool& pool_;
  MemoryPair pair_;
  bool taking_ = true;
};

class ServerTest : public testing::Test {
 protected:
  ServerTest() : pool_({.bytes_max = 64 * base::MiB, .huge_pages = false}), loop_(clock_) {
    programs_ = {test::test_program(service_)};
  }

  // Runs the body with a server; then everything is closed.
  template <class Body>
  void serve(const ServerOptions& options, Body body) {
    server_.emplace(options, programs_, registry_, base::SipKey{1, 2});
    loop_.run([this, &body]() -> io::Op<> {
      worker_.emplace(*server_, loop_.reactor(), pool_);
      co_await body();
      service_.release();
      for (auto& peer : peers_) peer->close();
      co_await settle();
      for (auto& peer : peers_) EXPECT_TRUE(peer->ended());
      peers_.clear();
      EXPECT_EQ(worker_->sessions(), 0U);
      worker_.reset();
    });
    EXPECT_EQ(server_->budget().used(), 0);
    EXPECT_EQ(pool_.stats().bytes_used, 0U);
  }
  Peer& connect(std::uint8_t host = 2, std::uint16_t port = 700) {
    return *peers_.emplace_back(std::make_unique<Peer>(*worker_, pool_, clock_, address(host, port)));
  }
  // Lets everything that can happen now happen: more steps than a turn of the reactor has, so that it takes
  // what was posted, too.
  io::Op<> settle() {
    for (int i = 0; i < 1000; ++i) co_await loop_.reactor().yield();
  }
  static Bytes test_call(std::uint32_t xid, std::uint32_t procedure, base::BytesView args = {}) {
    return call_of(xid, test::program_number, test::version_low, procedure, args);
  }

  base::ManualClock clock_;
  base::MetricRegistry registry_;
  io::SlabPool pool_;
  test::Loop loop_;
  test::TestService service_;
  std::vector<Program> programs_;
  std::optional<Server> server_;
  std::optional<ServerWorker> worker_;
  std::vector<std::unique_ptr<Peer>> peers_;
};

TEST_F(ServerTest, every_status_has_its_reply) {
  const std::uint32_t program = test::program_number;
  const struct {
    const char* what;
    Bytes call;
    Bytes reply;
  } cases[] = {
      {"NULL", call_of(1, program, 2, 0), words({1, 1, 0, 0, 0, 0})},
      {"NULL of the other version", call_of(1, program, 4, 0), words({1, 1, 0, 0, 0, 0})},
      {"NULL with arguments", call_of(1, program, 2, 0, words({5})), words({1, 1, 0, 0, 0, 0})},
      {"ECHO", call_of(2, program, 2, 1, words({4, 0x61626364})), words({2, 1, 0, 0, 0, 0, 4, 0x61626364})},
      {"WHO as nobody", call_of(2, program, 2, 8), words({2, 1, 0, 0, 0, 0, 0, 0, 0, 0})},
      {"WHO as a user", words({2, 0, 2, program, 2, 8, 1, 28, 9, 0, 5, 6, 2, 7, 8, 0, 0}),
       words({2, 1, 0, 0, 0, 0, 1, 5, 6, 2, 7, 8})},
      {"PROG_UNAVAIL", call_of(3, program + 1, 2, 1), words({3, 1, 0, 0, 0, 1})},
      {"PROG_MISMATCH below", call_of(3, program, 1, 1), words({3, 1, 0, 0, 0, 2, 2, 4})},
      {"PROG_MISMATCH between", call_of(3, program, 3, 0), words({3, 1, 0, 0, 0, 2, 2, 4})},
      {"PROG_MISMATCH above", call_of(3, program, 0xffffffff, 1), words({3, 1, 0, 0, 0, 2, 2, 4})},
      {"PROC_UNAVAIL in a hole", call_of(3, program, 2, 3), words({3, 1, 0, 0, 0, 3})},
      {"PROC_UNAVAIL behind the end", call_of(3, program, 2, 15), words({3, 1, 0, 0, 0, 3})},
      {"PROC_UNAVAIL far away", call_of(3, program, 2, 0xffffffff), words({3, 1, 0, 0, 0, 3})},
      {"GARBAGE_ARGS", call_of(3, program, 2, 1), words({3, 1, 0, 0, 0, 4})},
      {"GARBAGE_ARGS by length", call_of(3, program, 2, 1, words({0xfffffffe, 1})),
       words({3, 1, 0, 0, 0, 4})},
      {"SYSTEM_ERR", call_of(3, program, 2, 6), words({3, 1, 0, 0, 0, 5})},
      {"SYSTEM_ERR of an untranslated error", call_of(3, program, 2, 9), words({3, 1, 0, 0, 0, 5})},
      {"RPC_MISMATCH", words({4, 0, 3, program, 2, 0, 0, 0, 0, 0}), words({4, 1, 1, 0, 2, 2})},
      {"AUTH_BADCRED", words({4, 0, 2, program, 2, 0, 1, 4, 0, 0, 0}), words({4, 1, 1, 1, 1})},
      {"AUTH_REJECTEDCRED", words({4, 0, 2, program, 2, 0, 2, 4, 7, 0, 0}), words({4, 1, 1, 1, 2})},
      {"AUTH_TOOWEAK by the handler", call_of(4, program, 2, 11), words({4, 1, 1, 1, 5})},
      {"AUTH_BADVERF", words({4, 0, 2, program, 2, 0, 0, 0, 1, 0}), words({4, 1, 1, 1, 3})},
      {"AUTH_ERROR before PROG_UNAVAIL", words({4, 0, 2, program + 1, 2, 0, 2, 0, 0, 0}),
       words({4, 1, 1, 1, 2})},
  };
  serve({}, [&]() -> io::Op<> {
    for (const auto& one : cases) {
      Peer& peer = connect();
      peer.send(one.call);
      co_await settle();
      EXPECT_THAT(peer.replies, ElementsAre(one.reply)) << one.what;
      EXPECT_FALSE(peer.closed) << one.what;
    }
  });
}

TEST_F(ServerTest, a_reply_message_is_ignored) {
  serve({}, [&]() -> io::Op<> {
    Peer& peer = connect();
    peer.send(words({9, 1, 0, 0, 0, 0}));
    peer.send(test_call(1, test::proc_null));
    co_await settle();
    EXPECT_THAT(peer.replies, ElementsAre(words({1, 1, 0, 0, 0, 0})));
  });
}

TEST_F(ServerTest, what_is_no_rpc_message_ends_the_connection) {
  serve({}, [&]() -> io::Op<> {
    for (const Bytes& garbage : {Bytes{}, words({1}), words({1, 7, 2}), Bytes(3)}) {
      Peer& peer = connect();
      peer.send(garbage);
      co_await settle();
      EXPECT_TRUE(peer.closed);
    }
  });
}

TEST_F(ServerTest, replies_go_out_in_the_order_in_which_calls_end) {
  serve({}, [&]() -> io::Op<> {
    Peer& peer = connect();
    peer.send(test_call(1, test::proc_wait));
    peer.send(test_call(2, test::proc_null));
    co_await settle();
    EXPECT_THAT(peer.replies, ElementsAre(words({2, 1, 0, 0, 0, 0})));
    service_.release();
    co_await settle();
    EXPECT_THAT(peer.replies, ElementsAre(words({2, 1, 0, 0, 0, 0}), words({1, 1, 0, 0, 0, 0, 1})));
  });
}

TEST_F(ServerTest, a_repeated_call_is_executed_once_whatever_its_connection) {
  serve({}, [&]() -> io::Op<> {
    Peer& first = connect(2, 700);
    Peer& second = connect(2, 900);
    first.send(test_call(1, test::proc_count));
    co_await settle();
    first.send(test_call(1, test::proc_count));
    second.send(test_call(1, test::proc_count));
    co_await settle();
    const Bytes reply = words({1, 1, 0, 0, 0, 0, 1});
    EXPECT_THAT(first.replies, ElementsAre(reply, reply));
    EXPECT_THAT(second.replies, ElementsAre(reply));
    EXPECT_EQ(service_.counted, 1U);
  });
}

TEST_F(ServerTest, another_host_or_xid_is_another_call) {
  serve({}, [&]() -> io::Op<> {
    connect(2).send(test_call(1, test::proc_count));
    connect(3).send(test_call(1, test::proc_count));
    connect(2).send(test_call(2, test::proc_count));
    co_await settle();
    EXPECT_EQ(service_.counted, 3U);
  });
}

TEST_F(ServerTest, replay_of_a_running_request_waits_for_its_result) {
  serve({}, [&]() -> io::Op<> {
    Peer& first = connect(2, 700);
    Peer& second = connect(2, 900);
    first.send(test_call(1, test::proc_wait));
    second.send(test_call(1, test::proc_wait));
    co_await settle();
    EXPECT_EQ(service_.waiting(), 1U);
    EXPECT_TRUE(second.replies.empty());
    service_.release();
    co_await settle();
    const Bytes reply = words({1, 1, 0, 0, 0, 0, 1});
    EXPECT_THAT(first.replies, ElementsAre(reply));
    EXPECT_THAT(second.replies, ElementsAre(reply));
  });
}

TEST_F(ServerTest, the_result_reaches_the_new_connection_when_the_old_one_is_gone) {
  serve({}, [&]() -> io::Op<> {
    Peer& first = connect(2, 700);
    first.send(test_call(1, test::proc_wait));
    co_await settle();
    first.close();
    co_await settle();
    Peer& second = connect(2, 900);
    second.send(test_call(1, test::proc_wait));
    co_await settle();
    service_.release();
    co_await settle();
    EXPECT_EQ(service_.waited, 1U);
    EXPECT_THAT(second.replies, ElementsAre(words({1, 1, 0, 0, 0, 0, 1})));
  });
}

TEST_F(ServerTest, a_waiting_duplicate_whose_connection_ends_is_dropped) {
  serve({}, [&]() -> io::Op<> {
    Peer& first = connect(2, 700);
    first.send(test_call(1, test::proc_wait));
    Peer& second = connect(2, 900);
    second.send(test_call(1, test::proc_wait));
    co_await settle();
    second.close();
    co_await settle();
    service_.release();
    co_await settle();
    EXPECT_EQ(first.replies.size(), 1U);
    EXPECT_TRUE(second.replies.empty());
  });
}

TEST_F(ServerTest, a_failed_call_that_was_executed_is_not_executed_again) {
  serve({}, [&]() -> io::Op<> {
    Peer& peer = connect();
    peer.send(test_call(1, test::proc_fail));
    peer.send(test_call(1, test::proc_fail));
    co_await settle();
    const Bytes reply = words({1, 1, 0, 0, 0, 5});
    EXPECT_THAT(peer.replies, ElementsAre(reply, reply));
    EXPECT_EQ(server_->replays().stats().hits, 1U);
  });
}

TEST_F(ServerTest, a_connection_takes_in_no_more_than_its_budget) {
  ServerOptions options;
  const std::size_t call_bytes = 40;
  options.connection_bytes_max = 10 * (call_bytes + 4);
  serve(options, [&]() -> io::Op<> {
    Peer& peer = connect();
    Peer& other = connect(3);
    for (std::uint32_t xid = 0; xid < 25; ++xid) peer.send(test_call(xid, test::proc_wait));
    co_await settle();
    EXPECT_EQ(service_.waiting(), 10U);
    EXPECT_EQ(peer.taken_by_server, 10 * call_bytes);
    other.send(test_call(1, test::proc_null));
    co_await settle();
    EXPECT_EQ(other.replies.size(), 1U);
    for (int round = 0; round < 3; ++round) {
      service_.release();
      co_await settle();
    }
    EXPECT_EQ(peer.replies.size(), 25U);
  });
}

TEST_F(ServerTest, a_client_that_does_not_take_its_replies_is_not_read_from) {
  ServerOptions options;
  options.connection_bytes_max = 500'000;
  serve(options, [&]() -> io::Op<> {
    Peer& peer = connect();
    peer.take_replies(false);
    for (std::uint32_t xid = 0; xid < 100; ++xid)
      peer.send(test_call(xid, test::proc_bulk, words({100'000})));
    co_await settle();
    EXPECT_LT(server_->budget().used(), 2'000'000);
    EXPECT_LT(peer.taken_by_server, 44 * 10U);
    peer.take_replies(true);
    for (int i = 0; i < 20; ++i) co_await settle();
    EXPECT_EQ(peer.replies.size(), 100U);
  });
}

TEST_F(ServerTest, a_call_that_does_not_wait_is_charged_nothing_but_its_reply) {
  std::int64_t while_it_ran = -1;
  service_.at_bulk = [&] { while_it_ran = server_->budget().used(); };
  serve({}, [&]() -> io::Op<> {
    Peer& peer = connect();
    peer.take_replies(false);
    peer.send(test_call(1, test::proc_bulk, words({1'000'000})));
    co_await settle();
    EXPECT_EQ(while_it_ran, 0);
    EXPECT_GE(server_->budget().used(), 1'000'000);
    peer.take_replies(true);
    co_await settle();
    EXPECT_EQ(peer.replies.size(), 1U);
  });
}

TEST_F(ServerTest, all_connections_together_stay_in_the_common_budget) {
  ServerOptions options;
  options.bytes_max = 10 * 44;
  serve(options, [&]() -> io::Op<> {
    for (std::uint8_t host = 10; host < 20; ++host)
      for (std::uint32_t xid = 0; xid < 5; ++xid) {
        if (xid == 0) connect(host);
        peers_.back()->send(test_call(xid, test::proc_wait));
      }
    co_await settle();
    EXPECT_EQ(service_.waiting(), 10U);
    EXPECT_TRUE(worker_->short_of_memory());
    for (int round = 0; round < 10; ++round) {
      service_.release();
      co_await settle();
    }
    for (const auto& peer : peers_) EXPECT_EQ(peer->replies.size(), 5U);
    EXPECT_EQ(service_.waited, 50U);
  });
}

TEST_F(ServerTest, a_connection_that_waits_for_the_common_budget_may_end) {
  ServerOptions options;
  options.bytes_max = 44;
  serve(options, [&]() -> io::Op<> {
    Peer& first = connect(10);
    Peer& second = connect(11);
    first.send(test_call(1, test::proc_wait));
    co_await settle();
    second.send(test_call(1, test::proc_wait));
    co_await settle();
    second.close();
    co_await settle();
    service_.release();
    co_await settle();
    EXPECT_EQ(first.replies.size(), 1U);
    EXPECT_EQ(service_.waited, 1U);
  });
}

TEST_F(ServerTest, calls_in_flight_when_their_connection_ends_are_finished) {
  serve({}, [&]() -> io::Op<> {
    Peer& peer = connect();
    for (std::uint32_t xid = 0; xid < 5; ++xid) peer.send(test_call(xid, test::proc_wait));
    co_await settle();
    peer.close();
    co_await settle();
    EXPECT_EQ(worker_->sessions(), 1U);
    service_.release();
    co_await settle();
    EXPECT_EQ(service_.waited, 5U);
    EXPECT_EQ(worker_->sessions(), 0U);
  });
}

TEST_F(ServerTest, without_memory_for_any_reply_the_connection_ends) {
  io::SlabPool small({.bytes_max = io::region_bytes, .huge_pages = false});
  server_.emplace(ServerOptions{}, programs_, registry_, base::SipKey{1, 2});
  loop_.run([&]() -> io::Op<> {
    worker_.emplace(*server_, loop_.reactor(), small);
    Peer peer(*worker_, pool_, clock_, address(2, 700));
    std::vector<io::SlabRef> all;
    while (auto slab = small.acquire(io::SlabSize::small)) all.push_back(std::move(*slab));
    peer.send(test_call(1, test::proc_count));
    co_await settle();
    EXPECT_TRUE(peer.closed);
    EXPECT_TRUE(peer.replies.empty());
    all.clear();
    worker_.reset();
  });
}

TEST_F(ServerTest, metrics_tell_calls_errors_and_bytes_of_each_procedure) {
  serve({}, [&]() -> io::Op<> {
    Peer& peer = connect();
    peer.send(test_call(1, test::proc_echo, words({4, 0})));
    peer.send(test_call(2, test::proc_echo));
    peer.send(call_of(3, 1, 1, 1));
    co_await settle();
    const std::string text = registry_.prometheus();
    const std::string labels = R"({program="TEST",version="2",procedure="ECHO"})";
    EXPECT_NE(text.find("braid_rpc_errors_total" + labels + " 1\n"), std::string::npos);
    EXPECT_NE(text.find("braid_rpc_received_bytes_total" + labels + " 88\n"), std::string::npos);
    EXPECT_NE(text.find("braid_rpc_sent_bytes_total" + labels + " 56\n"), std::string::npos);
    EXPECT_NE(text.find(R"(braid_rpc_latency_seconds_count{program="TEST",version="2",procedure="ECHO"} 2)"),
              std::string::npos);
    EXPECT_NE(text.find(R"(braid_rpc_refused_total{reason="PROG_UNAVAIL"} 1)"), std::string::npos);
    EXPECT_NE(text.find(R"(braid_rpc_refused_total{reason="GARBAGE_ARGS"} 1)"), std::string::npos);
  });
}

}  // namespace
}  // namespace braid::rpc
