// Who may connect, and what those that may not are told.
#include <gtest/gtest.h>

#include "tests/unit/rdma/connection_fixture.h"

namespace braid::rdma {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): the words of these tests

class AdmissionTest : public ConnectionTest {
 protected:
  [[nodiscard]] std::uint64_t refused(Refusal why) const { return world_->metrics.refused(why).value(); }
  static void expect_refused(const SimClient& client, std::string_view why) {
    EXPECT_FALSE(client.established);
    EXPECT_TRUE(client.disconnected);
    EXPECT_EQ(client.refusal, why);
  }
};

TEST_F(AdmissionTest, one_more_than_connections_max_is_refused_until_another_ends) {
  WorldOptions options;
  options.connections_max = 2;
  run(
      [&]() -> io::Op<> {
        SimClient& first = *co_await world_->connect();
        SimClient& second = *co_await world_->connect();
        EXPECT_TRUE(first.established && second.established);
        expect_refused(*co_await world_->connect(), "connections_max");
        EXPECT_EQ(refused(Refusal::connections_max), 1U);
        EXPECT_EQ(world_->rdma->connections(), 2U);
        first.disconnect();
        co_await world_->settle();
        const SimClient& next = *co_await world_->connect();
        EXPECT_TRUE(next.established);
        second.send(Wire(7, 32, 0).with(call(7, proc_null)));
        EXPECT_FALSE((co_await answer_to(second)).empty());
      },
      options);
}

TEST_F(AdmissionTest, connections_of_other_transports_count) {
  WorldOptions options;
  options.connections_max = 2;
  run(
      [&]() -> io::Op<> {
        world_->other_connections = 2;
        expect_refused(*co_await world_->connect(), "connections_max");
        world_->other_connections = 1;
        const SimClient& client = *co_await world_->connect();
        EXPECT_TRUE(client.established);
      },
      options);
}

TEST_F(AdmissionTest, an_address_has_its_share) {
  WorldOptions options;
  options.connections_max = 16 + 3;
  run(
      [&]() -> io::Op<> {
        for (int i = 0; i < 16; ++i) {
          const SimClient& client = *co_await world_->connect();
          EXPECT_TRUE(client.established) << i;
        }
        expect_refused(*co_await world_->connect(), "address_share");
        EXPECT_EQ(refused(Refusal::address_share), 1U);
      },
      options);
}

// All ask before any is established.
TEST_F(AdmissionTest, connections_max_holds_among_clients_that_ask_at_once) {
  WorldOptions options;
  options.connections_max = 3;
  run(
      [&]() -> io::Op<> {
        for (int i = 0; i < 10; ++i)
          world_->clients.push_back(std::make_unique<SimClient>(world_->client_host, world_->address));
        co_await world_->settle();
        const auto established = std::ranges::count_if(
            world_->clients, [](const auto& client) { return client->established && !client->disconnected; });
        EXPECT_EQ(established, 3);
        EXPECT_EQ(refused(Refusal::connections_max), 7U);
      },
      options);
}

TEST_F(AdmissionTest, a_draining_worker_says_so) {
  run([&]() -> io::Op<> {
    EXPECT_TRUE(co_await world_->rdma->drain(std::chrono::hours(1)));
    expect_refused(*co_await world_->connect(), "draining");
    EXPECT_EQ(refused(Refusal::draining), 1U);
    EXPECT_EQ(world_->rdma->connections(), 0U);
  });
}

TEST_F(AdmissionTest, a_device_without_room_for_the_queues_says_so) {
  for (const std::uint32_t requests_max : {10U, 100U, 140U}) {
    WorldOptions options;
    options.device.requests_max = requests_max;
    run(
        [&]() -> io::Op<> {
          expect_refused(*co_await world_->connect(), "no_resources");
          EXPECT_EQ(refused(Refusal::no_resources), 1U);
          EXPECT_EQ(world_->rdma->connections(), 0U);
        },
        options);
  }
}

TEST_F(AdmissionTest, a_device_that_cannot_register_memory_says_so) {
  WorldOptions options;
  options.registration = Registration::odp;
  options.device.on_demand = false;
  run(
      [&]() -> io::Op<> {
        expect_refused(*co_await world_->connect(), "no_resources");
        EXPECT_EQ(refused(Refusal::no_resources), 1U);
      },
      options);
}

TEST_F(AdmissionTest, a_server_without_memory_says_so) {
  WorldOptions options;
  options.pool.bytes_max = io::region_bytes;
  run(
      [&]() -> io::Op<> {
        std::vector<io::SlabRef> taken;
        while (auto slab = world_->pool.acquire(io::SlabSize::small)) taken.push_back(std::move(*slab));
        expect_refused(*co_await world_->connect(), "no_resources");
        EXPECT_EQ(refused(Refusal::no_resources), 1U);
        EXPECT_EQ(world_->rdma->connections(), 0U);
        taken.clear();
        EXPECT_TRUE((co_await world_->connect())->established);
      },
      options);
}

// RFC 8797 section 4: what a peer says of itself in a form that is not known is as good as nothing.
TEST_F(AdmissionTest, private_data_of_another_kind_is_no_reason_to_refuse) {
  run([&]() -> io::Op<> {
    ClientOptions silent;
    silent.private_data = std::nullopt;
    const SimClient& client = *co_await world_->connect(silent);
    EXPECT_TRUE(client.established);
  });
}

TEST_F(AdmissionTest, the_worker_with_the_fewest_connections_takes_the_next) {
  run([&]() -> io::Op<> {
    RdmaWorker second(world_->loop.reactor(), world_->pool, world_->host, *world_->maps, {}, world_->metrics,
                      world_->turns);
    Admission both({{&*world_->rdma, &*world_->worker}, {&second, &*world_->worker}}, *world_->limit,
                   world_->metrics);
    const auto listener = world_->host.listen({.bytes = {}, .port = 20050}, both).value();
    for (int i = 0; i < 6; ++i) {
      world_->clients.push_back(std::make_unique<SimClient>(world_->client_host, listener->address()));
      co_await world_->settle();
    }
    EXPECT_EQ(world_->rdma->connections(), 3U);
    EXPECT_EQ(second.connections(), 3U);
    co_await second.close();
  });
}

}  // namespace
}  // namespace braid::rdma
