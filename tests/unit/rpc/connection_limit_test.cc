// Whose connection goes when there is no room for one more.
#include "rpc/connection_limit.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/rpc/tcp_fixture.h"

namespace braid::rpc {
namespace {

using base::Bytes;
using test::RawClient;
using test::TcpServer;
using test::TcpServerOptions;

constexpr std::uint8_t host_a = 2, host_b = 3, host_c = 4;  // hosts of 127.0.0.0/8

class ConnectionLimitTest : public testing::Test {
 protected:
  ConnectionLimitTest() { options_.connections_max = 6; }

  RawClient& connect(TcpServer& server, std::uint8_t host) {
    return *clients_.emplace_back(std::make_unique<RawClient>(server.address, 0, host));
  }
  // Connections that were served, the first one longest ago.
  std::vector<RawClient*> come(TcpServer& server, std::uint8_t host, int count) {
    std::vector<RawClient*> came;
    for (int i = 0; i < count; ++i) {
      came.push_back(&connect(server, host));
      EXPECT_TRUE(answered(*came.back()));
    }
    return came;
  }
  static bool answered(RawClient& client) {
    return client.send(test::record(test::test_call(1, test::proc_null))) && client.receive().has_value();
  }
  // Calls that are not answered before the service is released.
  std::vector<RawClient*> come_to_stay(TcpServer& server, std::uint8_t host, std::uint32_t count) {
    std::vector<RawClient*> came;
    for (std::uint32_t xid = 1; xid <= count; ++xid) {
      came.push_back(&connect(server, host));
      EXPECT_TRUE(came.back()->send(test::record(test::test_call(xid, test::proc_wait))));
    }
    EXPECT_TRUE(test::eventually([&] {
      std::size_t waiting = 0;
      server.first().call([&] { waiting = server.service.waiting(); });
      return waiting == count;
    }));
    return came;
  }

  TcpServerOptions options_;
  std::vector<std::unique_ptr<RawClient>> clients_;
};

TEST_F(ConnectionLimitTest, who_has_the_most_makes_room) {
  TcpServer server(options_);
  RawClient& patient = *come(server, host_b, 1).front();
  const auto crowd = come(server, host_a, 5);
  EXPECT_TRUE(answered(connect(server, host_c)));
  EXPECT_TRUE(crowd.front()->at_end()) << "idle longest of those of the address with the most";
  EXPECT_TRUE(answered(patient)) << "idle longest of all";
  EXPECT_EQ(server.connections(), 6U);
}

TEST_F(ConnectionLimitTest, who_has_the_most_displaces_only_its_own) {
  TcpServer server(options_);
  RawClient& patient = *come(server, host_b, 1).front();
  (void)come(server, host_a, 25);
  EXPECT_TRUE(answered(patient));
  EXPECT_LE(server.connections(), 6U);
}

TEST_F(ConnectionLimitTest, work_under_way_keeps_nobody_else_out) {
  TcpServer server(options_);
  (void)come_to_stay(server, host_a, 6);
  EXPECT_TRUE(answered(connect(server, host_b)));
  // But for one more of its own nobody is disturbed.
  RawClient& more = connect(server, host_a);
  EXPECT_TRUE(more.at_end());
  EXPECT_EQ(server.tcp_metrics.closed_limit.value(), 1U);
  server.first().call([&] { server.service.release(); });
}

TEST_F(ConnectionLimitTest, among_equals_the_idle_one_makes_room) {
  options_.connections_max = 3;
  TcpServer server(options_);
  const auto busy = come_to_stay(server, host_a, 1);
  const auto idle = come(server, host_b, 1);
  const auto newer = come(server, host_c, 1);
  // The first one is looked at first, and then another one.
  bool is_served = false;
  for (int attempt = 0; attempt < 4 && !is_served; ++attempt) is_served = answered(connect(server, 5));
  EXPECT_TRUE(is_served);
  EXPECT_TRUE(idle.front()->at_end());
  server.first().call([&] { server.service.release(); });
  EXPECT_TRUE(busy.front()->receive());
}

TEST_F(ConnectionLimitTest, whom_the_server_knows_comes_before_whom_it_does_not) {
  options_.server.knows = [](const PeerAddress& peer) { return peer.bytes.back() == host_a; };
  TcpServer server(options_);
  (void)come(server, host_a, 5);
  RawClient& stranger = *come(server, host_b, 1).front();
  EXPECT_TRUE(answered(connect(server, host_a)));
  EXPECT_TRUE(stranger.at_end());
  RawClient& next = connect(server, host_c);
  EXPECT_TRUE(next.at_end());
  EXPECT_EQ(server.connections(), 6U);
}

// What a server called, and hears nothing from.
struct Called final : Receiver {
  bool ready(Connection&) override { return true; }
  void on_message(Connection&, io::Payload, base::TimePoint) override {}
  void on_sent(Connection&, std::size_t) override {}
  [[nodiscard]] bool idle() const override { return true; }
  void on_closed(Connection&) override {}
};

TEST_F(ConnectionLimitTest, connections_that_the_server_has_made_take_no_clients_place) {
  const base::UniqueFd silent = listen_on(parse_address("127.0.0.1", 0).value()).value();
  Called called;
  TcpServer server(options_);
  const auto crowd = come(server, host_a, 5);
  for (int i = 0; i < 10; ++i) server.connect_to(local_of(silent.get()).value(), called);
  EXPECT_TRUE(answered(connect(server, host_b)));
  EXPECT_EQ(server.connections(), 6U);
  for (RawClient* const one : crowd) EXPECT_TRUE(answered(*one));
  EXPECT_EQ(server.tcp_metrics.closed_limit.value(), 0U);
}

TEST_F(ConnectionLimitTest, the_workers_are_asked_in_turn) {
  options_.reactors = 3;
  TcpServer server(options_);
  (void)come(server, host_a, 6);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(answered(connect(server, host_b))) << i;
  EXPECT_EQ(server.tcp_metrics.closed_limit.value(), 3U);
}

// What has gone is forgotten, and a network of IPv6 is one.
TEST(ConnectionCountTest, places_count_until_they_are_given_back) {
  constexpr std::size_t plenty_of_memory = 1000;
  base::MetricRegistry registry;
  const base::SystemClock clock;
  std::size_t connections = 0;
  ConnectionLimit limit(200, {}, [&] { return connections; }, clock, registry);
  const PeerAddress host = parse_address("2001:db8::1", 1).value();
  const PeerAddress neighbour = parse_address("2001:db8::2", 1).value();
  std::vector<ConnectionLimit::Place> places;
  for (connections = 0; !limit.over_share(host, true, plenty_of_memory); ++connections)
    places.push_back(limit.enter(neighbour, true, Transport::rdma));
  EXPECT_EQ(places.size(), 67U) << "half as many as are left";
  EXPECT_FALSE(limit.over_share(parse_address("2001:db8:0:1::1", 1).value(), true, plenty_of_memory));
  places.pop_back();
  --connections;
  EXPECT_FALSE(limit.over_share(host, true, plenty_of_memory));
  EXPECT_TRUE(limit.over_share(host, false, plenty_of_memory)) << "an eighth of that";
  EXPECT_TRUE(limit.over_share(host, true, 120)) << "there is memory for so many";
  EXPECT_EQ(text_of(peer_key(host)), "2001:db8::/64");
  EXPECT_EQ(text_of(peer_key(parse_address("192.0.2.1", 7).value())), "192.0.2.1");
}

}  // namespace
}  // namespace braid::rpc
