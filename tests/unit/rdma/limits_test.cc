// Time limits, draining, memory.
#include <gtest/gtest.h>

#include "tests/unit/rdma/connection_fixture.h"

namespace braid::rdma {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): the words of these tests

TEST_F(ConnectionTest, an_idle_connection_is_asked_whether_it_lives_and_then_closed) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    client.send(Wire(7, 32, 0).with(call(7, proc_null)));
    (void)co_await answer_to(client);
    world_->clock.advance(std::chrono::seconds(61));
    world_->rdma->check_limits();
    co_await world_->settle();
    EXPECT_EQ(world_->host.stats().count(Opcode::write), 1U);
    EXPECT_EQ(world_->host.stats().byte_count(Opcode::write), 0U);
    EXPECT_FALSE(client.disconnected);
    world_->clock.advance(std::chrono::minutes(6));
    world_->rdma->check_limits();
    co_await world_->settle();
    EXPECT_TRUE(client.disconnected);
    EXPECT_EQ(world_->metrics.closed_idle.value(), 1U);
  });
}

TEST_F(ConnectionTest, a_client_that_takes_no_replies_is_closed) {
  run([&]() -> io::Op<> {
    const ClientOptions limits{.receives = 1};
    SimClient& client = *co_await world_->connect(limits);
    client.receives_again = false;
    client.send(Wire(7, 32, 0).with(call(7, proc_null)));
    client.send(Wire(8, 32, 0).with(call(8, proc_null)));
    co_await world_->settle();
    EXPECT_EQ(client.messages.size(), 1U);
    world_->clock.advance(std::chrono::seconds(61));
    world_->rdma->check_limits();
    co_await world_->settle();
    EXPECT_TRUE(client.disconnected);
    EXPECT_EQ(world_->metrics.closed_stalled.value(), 1U);
  });
}

TEST_F(ConnectionTest, a_drain_answers_what_runs_and_takes_no_more) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    client.send(Wire(7, 32, 0).with(call(7, proc_wait)));
    co_await world_->settle();
    std::optional<bool> drained;
    io::Gate gate;
    auto drain = [&]() -> io::Op<> { drained = co_await world_->rdma->drain(std::chrono::hours(1)); };
    io::spawn(gate, drain());
    client.send(Wire(8, 32, 0).with(call(8, proc_null)));
    co_await world_->settle();
    EXPECT_FALSE(drained.has_value());
    EXPECT_TRUE(client.messages.empty());
    service_.release();
    co_await world_->settle();
    world_->clock.advance(std::chrono::seconds(1));
    co_await world_->settle();
    EXPECT_EQ(drained, true);
    EXPECT_EQ(client.messages.size(), 1U);
  });
}

TEST_F(ConnectionTest, an_idle_connection_holds_less_than_1_MiB) {
  run([&]() -> io::Op<> {
    const ClientOptions limits{.receives = 200};
    SimClient& client = *co_await world_->connect(limits);
    for (std::uint32_t i = 0; i < 1000; ++i) {
      client.send(Wire(i, 32, 0).with(call(i, proc_null)));
      if (i % 100 == 99) co_await world_->settle();
    }
    EXPECT_EQ(client.messages.size(), 1000U);
    EXPECT_LT(world_->pool.stats().bytes_used, base::MiB);
  });
}

TEST_F(ConnectionTest, without_memory_a_call_waits_and_credits_are_fewer) {
  WorldOptions options;
  options.pool.bytes_max = 2 * io::region_bytes;
  run(
      [&]() -> io::Op<> {
        SimClient& client = *co_await world_->connect();
        std::vector<io::SlabRef> taken;
        while (auto slab = world_->pool.acquire(io::SlabSize::large)) taken.push_back(std::move(*slab));
        while (auto slab = world_->pool.acquire(io::SlabSize::small)) taken.push_back(std::move(*slab));
        const Offer source = client.readable(patterned(200'000));
        client.send(Wire(7, 1, 0).read(44, source.segment()).with(call(7, proc_write, words({200'000, 1}))));
        co_await world_->settle();
        EXPECT_TRUE(client.messages.empty());
        EXPECT_GT(world_->metrics.memory_waits.value(), 0U);
        taken.clear();
        world_->clock.advance(std::chrono::seconds(1));
        co_await world_->settle();
        EXPECT_EQ(client.messages.size(), 1U);
      },
      options);
}

TEST_F(ConnectionTest, a_device_with_few_pieces_gets_more_requests_or_a_copy) {
  WorldOptions options;
  options.device.pieces_max = 1;
  run(
      [&]() -> io::Op<> {
        SimClient& client = *co_await world_->connect();
        const Offer sink = client.writable(200'000);
        client.send(Wire(7, 32, 0).write({sink.segment()}).with(call(7, proc_read, words({1, 200'000}))));
        (void)co_await answer_to(client);
        EXPECT_EQ(sink.content(), patterned(200'000));
        EXPECT_EQ(world_->host.stats().count(Opcode::write), 4U);
      },
      options);
}

}  // namespace
}  // namespace braid::rdma
