// What one peer may hold of a server's memory: others are served while it stalls.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "rpc/peer_account.h"
#include "tests/unit/rpc/tcp_fixture.h"

namespace braid::rpc {
namespace {

using base::Bytes;
using base::BytesView;
using test::RawClient;
using test::TcpServer;
using test::TcpServerOptions;
using Clients = std::vector<std::unique_ptr<RawClient>>;

constexpr std::uint8_t victim = 1, hog = 2, other_hog = 3;
constexpr std::size_t bytes_max = 8 * base::MiB;

// Nothing ends because it stalls: whoever is served is served beside those who stall.
TcpServerOptions patient() {
  TcpServerOptions options;
  options.server.bytes_max = bytes_max;
  options.tcp.stall_limit = options.tcp.stall_limit_short = std::chrono::hours(1);
  options.pool.bytes_max = 4 * io::region_bytes;
  return options;
}

Bytes echo_of(std::uint32_t xid, std::size_t bytes) {
  return test::record(test::test_call(xid, test::proc_echo, test::opaque_of(test::pattern(bytes))));
}

// A record of a MiB each, of which it sends 70,000 bytes.
void send_parts(TcpServer& server, Clients& clients, std::uint8_t host, std::size_t count) {
  const Bytes call = echo_of(1, base::MiB);
  for (std::size_t i = 0; i < count; ++i) {
    auto& one = *clients.emplace_back(std::make_unique<RawClient>(server.address, 0, host));
    ASSERT_TRUE(one.connected());
    ASSERT_TRUE(one.send(BytesView(call).first(70'000)));
  }
}

// Calls whose replies nobody reads.
void ask_and_never_read(TcpServer& server, Clients& clients, std::uint8_t host, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    auto& one = *clients.emplace_back(std::make_unique<RawClient>(server.address, 16 * 1024, host));
    ASSERT_TRUE(one.connected());
    for (std::uint32_t xid = 0; xid < 8; ++xid)
      ASSERT_TRUE(one.send(test::record(test::test_call(xid, test::proc_bulk, test::words({1'000'000})))));
  }
}

void expect_served(TcpServer& server, std::uint8_t host) {
  RawClient client(server.address, 0, host);
  for (std::uint32_t xid = 1; xid <= 20; ++xid) {
    ASSERT_TRUE(client.send(echo_of(xid, 300'000)));
    ASSERT_TRUE(client.receive());
  }
}

bool held_back(TcpServer& server) {
  return server.registry.prometheus().find("braid_rpc_over_share_total 0") == std::string::npos;
}

TEST(PeerShareTest, half_sent_records_hold_up_nobody_else) {
  TcpServer server(patient());
  Clients clients;
  send_parts(server, clients, hog, 40);
  ASSERT_TRUE(test::eventually([&] { return held_back(server); }));
  expect_served(server, victim);
  send_parts(server, clients, other_hog, 40);
  expect_served(server, victim);
  EXPECT_TRUE(test::eventually([&] { return server.connections() == 80; })) << "all attackers are there";
  EXPECT_LE(server.server.budget().used(), static_cast<std::int64_t>(bytes_max));
}

TEST(PeerShareTest, replies_that_nobody_reads_hold_up_nobody_else) {
  TcpServerOptions options = patient();
  options.tcp.send_buffer_bytes = 64 * 1024;
  TcpServer server(options);
  Clients clients;
  ask_and_never_read(server, clients, hog, 20);
  ASSERT_TRUE(test::eventually([&] { return held_back(server); }));
  expect_served(server, victim);
  EXPECT_TRUE(test::eventually([&] { return server.connections() == 20; })) << "all attackers are there";
}

TEST(PeerShareTest, who_is_unknown_has_an_eighth) {
  TcpServerOptions options = patient();
  options.server.knows = [](const PeerAddress& peer) { return peer.bytes.back() != hog; };
  TcpServer server(options);
  Clients clients;
  send_parts(server, clients, hog, 20);
  ASSERT_TRUE(test::eventually([&] { return held_back(server); }));
  expect_served(server, victim);
  // A record more than its share, and what each connection has received before it had to wait.
  EXPECT_LE(server.server.budget().used(),
            static_cast<std::int64_t>(bytes_max / 16 + base::MiB + 20 * io::small_slab_bytes));
}

TEST(PeerShareTest, of_a_peer_over_its_share_what_stalls_ends_and_the_rest_is_served) {
  TcpServerOptions options = patient();
  options.tcp.stall_limit_short = std::chrono::milliseconds(100);
  options.tcp.stall_limit = std::chrono::milliseconds(500);
  options.tcp.sweep_interval = std::chrono::milliseconds(20);
  TcpServer server(options);
  Clients clients;
  send_parts(server, clients, hog, 60);
  expect_served(server, hog);
  for (const auto& client : clients) EXPECT_TRUE(client->at_end());
  EXPECT_TRUE(test::eventually([&] { return server.server.budget().used() == 0; }));
}

// Not after the time that all others have.
TEST(PeerShareTest, a_peer_over_its_share_has_little_time_to_go_on) {
  TcpServerOptions options = patient();
  options.tcp.stall_limit_short = std::chrono::milliseconds(100);
  options.tcp.stall_limit = std::chrono::hours(1);
  options.tcp.sweep_interval = std::chrono::milliseconds(20);
  TcpServer server(options);
  Clients clients;
  send_parts(server, clients, hog, 60);
  expect_served(server, hog);
  EXPECT_GT(server.tcp_metrics.closed_stalled.value(), 0U);
}

// On two threads: until their peer's other connections have read what they asked for.
TEST(PeerShareTest, who_waits_is_told_when_there_is_room) {
  TcpServerOptions options = patient();
  options.tcp.send_buffer_bytes = 64 * 1024;
  options.reactors = 2;
  TcpServer server(options);
  Clients readers;
  ask_and_never_read(server, readers, hog, 8);
  ASSERT_TRUE(test::eventually([&] { return held_back(server); }));
  std::vector<std::thread> threads;
  threads.reserve(16);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&server] {
      RawClient client(server.address, 0, hog);
      constexpr std::uint32_t calls = 20;
      std::thread sender([&client] {
        for (std::uint32_t xid = 1; xid <= calls; ++xid) EXPECT_TRUE(client.send(echo_of(xid, 150'000)));
      });
      for (std::uint32_t xid = 1; xid <= calls; ++xid) EXPECT_TRUE(client.receive());
      sender.join();
    });
  }
  for (const auto& reader : readers)
    threads.emplace_back([&reader] {
      for (int reply = 0; reply < 8; ++reply) EXPECT_TRUE(reader->receive());
    });
  for (std::thread& thread : threads) thread.join();
}

// Of one peer; it counts how often it may go on.
class Waiting final : public Connection {
 public:
  [[nodiscard]] const PeerAddress& peer() const override { return peer_; }
  [[nodiscard]] std::size_t headroom() const override { return 4; }
  [[nodiscard]] io::PipePool* pipes() const override { return nullptr; }
  void send(xdr::Message) override {}
  void resume() override { ++resumed; }
  void close() override {}

  int resumed = 0;

 private:
  const PeerAddress peer_ = parse_address("192.0.2.1", 700).value();
};

// Three connections of a peer: the first one has more than the share of all, the others wait.
class WakingTest : public testing::Test {
 protected:
  static constexpr std::size_t most = 2 * base::MiB;

  template <class Body>
  void run(Body body) {
    loop_.run([&]() -> io::Op<> {
      ServerWorker worker(server_, loop_.reactor(), pool_);
      for (std::size_t i = 0; i < connections.size(); ++i) sessions[i] = &worker.on_connected(connections[i]);
      sessions[0]->holding(most);
      for (const std::size_t i : {1U, 2U}) EXPECT_FALSE(sessions[i]->ready(connections[i]));
      sessions[0]->holding(0);
      co_await turns();
      EXPECT_EQ(connections[1].resumed, 1);
      EXPECT_EQ(connections[2].resumed, 0) << "one is told at a time";
      co_await body();
      for (std::size_t i = 0; i < connections.size(); ++i)
        if (sessions[i] != nullptr) sessions[i]->on_closed(connections[i]);
      co_await turns();
    });
  }
  io::Op<> turns() {
    for (int i = 0; i < 5; ++i) co_await loop_.reactor().next_turn();
  }

  std::array<Waiting, 3> connections;
  std::array<Receiver*, 3> sessions{};

 private:
  static ServerOptions options() {
    ServerOptions out;
    out.bytes_max = 2 * most;
    return out;
  }

  base::SystemClock clock_;
  base::MetricRegistry registry_;
  io::SlabPool pool_{{.bytes_max = io::region_bytes, .huge_pages = false}};
  test::TestService service_;
  const std::vector<Program> programs_{test::test_program(service_)};
  Server server_{options(), programs_, registry_, base::SipKey{1, 2}};
  test::Loop loop_{clock_};
};

TEST_F(WakingTest, who_finds_room_and_takes_nothing_tells_the_next) {
  run([&]() -> io::Op<> {
    EXPECT_TRUE(sessions[1]->ready(connections[1]));
    co_await turns();
    EXPECT_EQ(connections[2].resumed, 1);
  });
}

TEST_F(WakingTest, who_was_told_and_ends_tells_the_next) {
  run([&]() -> io::Op<> {
    std::exchange(sessions[1], nullptr)->on_closed(connections[1]);
    co_await turns();
    EXPECT_EQ(connections[2].resumed, 1);
  });
}

TEST(PeerKeyTest, an_ipv4_address_is_a_peer_and_so_is_a_network_of_ipv6) {
  const auto key = [](const char* text) { return peer_key(parse_address(text, 700).value()); };
  EXPECT_EQ(key("192.0.2.1"), peer_key(parse_address("192.0.2.1", 800).value()));
  EXPECT_NE(key("192.0.2.1"), key("192.0.2.2"));
  EXPECT_EQ(key("2001:db8::1"), key("2001:db8::ffff:2"));
  EXPECT_NE(key("2001:db8::1"), key("2001:db8:0:1::1"));
}

}  // namespace
}  // namespace braid::rpc
