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
    world_->rdma->check_limits();  // looks whether what was sent in silence has arrived
    co_await world_->settle();
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

// Whoever asks, and however many one address has already.
class TakesAll final : public ListenerUser {
 public:
  TakesAll(RdmaWorker& worker, rpc::Acceptor& acceptor) : worker_(worker), acceptor_(acceptor) {}
  void on_request(std::unique_ptr<ConnectRequest> request) override {
    worker_.adopt(std::move(request), acceptor_, nullptr);
  }

 private:
  RdmaWorker& worker_;
  rpc::Acceptor& acceptor_;
};

TEST_F(ConnectionTest, a_thousand_idle_connections_fit_in_a_pool_of_1_GiB) {
  constexpr std::size_t clients = 1000;
  WorldOptions options;
  options.pool.bytes_max = base::GiB;
  run(
      [&]() -> io::Op<> {
        TakesAll all(*world_->rdma, *world_->worker);
        const auto listener = world_->host.listen({.bytes = {}, .port = 20050}, all).value();
        for (std::size_t i = 0; i < clients; ++i)
          world_->clients.push_back(std::make_unique<SimClient>(world_->client_host, listener->address(),
                                                                ClientOptions{.receives = 1}));
        while (world_->metrics.accepted.value() < clients) co_await world_->loop.reactor().yield();
        for (const auto& client : world_->clients) client->send(Wire(7, 1, 0).with(call(7, proc_null)));
        co_await world_->settle();
        for (const auto& client : world_->clients) EXPECT_EQ(client->messages.size(), 1U);
        EXPECT_EQ(world_->metrics.memory_waits.value(), 0U);
        EXPECT_LT(world_->pool.stats().bytes_used, clients * base::MiB);
        EXPECT_LE(world_->maps->bytes_registered(), base::GiB);
      },
      options);
}

TEST_F(ConnectionTest, credits_of_all_connections_are_known) {
  run([&]() -> io::Op<> {
    SimClient& first = *co_await world_->connect();
    SimClient& second = *co_await world_->connect();
    for (SimClient* client : {&first, &second}) client->send(Wire(7, 32, 0).with(call(7, proc_null)));
    co_await world_->settle();
    EXPECT_EQ(world_->metrics.credits, 2 * std::int64_t{credits_max});
    first.disconnect();
    co_await world_->settle();
    EXPECT_EQ(world_->metrics.credits, credits_max);
  });
}

class MemoryTest : public ConnectionTest {
 protected:
  MemoryTest() { options_.pool.bytes_max = 2 * io::region_bytes; }
  std::vector<io::SlabRef> all_memory() {
    std::vector<io::SlabRef> taken;
    for (const io::SlabSize size : {io::SlabSize::large, io::SlabSize::small})
      while (auto slab = world_->pool.acquire(size)) taken.push_back(std::move(*slab));
    return taken;
  }
  static std::uint32_t granted_by(const Bytes& answer) { return rpc::test::u32_at(answer, 8); }

  WorldOptions options_;
};

TEST_F(MemoryTest, without_memory_a_call_waits_and_credits_are_fewer) {
  run(
      [&]() -> io::Op<> {
        SimClient& client = *co_await world_->connect();
        client.send(Wire(6, 1, 0).with(call(6, proc_null)));
        Bytes answer = co_await answer_to(client);
        EXPECT_EQ(granted_by(answer), credits_max);
        std::vector<io::SlabRef> taken = all_memory();
        const Offer source = client.readable(patterned(200'000));
        client.send(Wire(7, 1, 0).read(44, source.segment()).with(call(7, proc_write, words({200'000, 1}))));
        // These hold their receives.
        for (std::uint32_t i = 100; i < 140; ++i) client.send(Wire(i, 1, 0).with(call(i, proc_wait)));
        client.send(Wire(8, 1, 0).with(call(8, proc_null)));
        answer = co_await answer_to(client);
        EXPECT_EQ(rpc::test::u32_at(answer, 0), 8U);
        EXPECT_EQ(client.messages.size(), 2U);
        // Of the 41 receives in use, no more than a slab's 16 could be posted again.
        EXPECT_LE(granted_by(answer), credits_max - 25);
        EXPECT_GE(granted_by(answer), credits_max - 42);
        EXPECT_EQ(world_->metrics.credits, granted_by(answer));
        EXPECT_GT(world_->metrics.memory_waits.value(), 0U);
        taken.clear();
        world_->clock.advance(std::chrono::seconds(1));
        answer = co_await answer_to(client);
        EXPECT_EQ(rpc::test::u32_at(answer, 0), 7U);
        EXPECT_EQ(granted_by(answer), credits_max);
        service_.release();
        co_await world_->settle();
      },
      options_);
}

TEST_F(MemoryTest, without_memory_a_reply_waits) {
  run(
      [&]() -> io::Op<> {
        // With this one the RPC server has memory for replies, and the other worker has none for headers.
        SimClient& first = *co_await world_->connect();
        first.send(Wire(6, 1, 0).with(call(6, proc_null)));
        (void)co_await answer_to(first);
        RdmaWorker other(world_->loop.reactor(), world_->pool, world_->host, *world_->maps, {},
                         world_->metrics, world_->turns);
        Admission admission({{&other, &*world_->worker}}, *world_->limit, world_->metrics);
        const auto listener = world_->host.listen({.bytes = {}, .port = 20050}, admission).value();
        SimClient& client = *world_->clients.emplace_back(
            std::make_unique<SimClient>(world_->client_host, listener->address()));
        co_await world_->settle();
        std::vector<io::SlabRef> taken = all_memory();
        client.send(Wire(7, 1, 0).with(call(7, proc_null)));
        co_await world_->settle();
        EXPECT_TRUE(client.messages.empty());
        EXPECT_FALSE(client.disconnected);
        taken.clear();
        world_->clock.advance(std::chrono::seconds(1));
        const Bytes answer = co_await answer_to(client);
        EXPECT_EQ(answer, joined(words({7, 1, credits_max, 0, 0, 0, 0}), success(7)));
        co_await other.close();
      },
      options_);
}

TEST_F(MemoryTest, without_memory_an_error_waits_but_not_for_ever) {
  run(
      [&]() -> io::Op<> {
        SimClient& client = *co_await world_->connect();
        std::vector<io::SlabRef> taken = all_memory();
        client.send(words({7, 1, 1, 9, 0, 0, 0}));
        co_await world_->settle();
        EXPECT_TRUE(client.messages.empty());
        taken.clear();
        world_->clock.advance(std::chrono::seconds(1));
        const Bytes answer = co_await answer_to(client);
        EXPECT_EQ(answer, words({7, 1, credits_max, 4, 2}));
        EXPECT_EQ(world_->metrics.err_chunk.value(), 1U);
      },
      options_);
  run(
      [&]() -> io::Op<> {
        SimClient& client = *co_await world_->connect();
        const std::vector<io::SlabRef> taken = all_memory();
        client.send(words({7, 1, 1, 9, 0, 0, 0}));
        co_await world_->settle();
        world_->clock.advance(std::chrono::seconds(61));
        world_->rdma->check_limits();
        co_await world_->settle();
        EXPECT_TRUE(client.disconnected);
        EXPECT_EQ(world_->metrics.closed_stalled.value(), 1U);
      },
      options_);
}

// 70,000 bytes take a slab of 1 MiB.
TEST_F(ConnectionTest, calls_that_are_being_read_hold_no_more_slabs_than_they_may) {
  WorldOptions options;
  options.rdma.chunk_reads_bytes_max = 4 * base::MiB;
  run(
      [&]() -> io::Op<> {
        const ClientOptions keeps_keys{.private_data = PrivateData{4096, 4096, false}};
        SimClient& client = *co_await world_->connect(keeps_keys);
        world_->host.hold_completions(true);
        const Offer source = client.readable(patterned(70'000));
        for (std::uint32_t i = 0; i < 8; ++i)
          client.send(
              Wire(i, 32, 0).read(44, source.segment()).with(call(i, proc_write, words({70'000, 1}))));
        co_await world_->settle();
        EXPECT_EQ(world_->host.stats().count(Opcode::read), 4U);
        world_->host.hold_completions(false);
        co_await world_->settle();
        EXPECT_EQ(client.messages.size(), 8U);
      },
      options);
}

TEST_F(ConnectionTest, a_silent_peer_that_does_not_answer_a_probe_is_closed) {
  run([&]() -> io::Op<> {
    const SimClient& client = *co_await world_->connect();
    world_->host.inject({Opcode::write, 0, sim::Fault::Kind::fail, WorkStatus::unanswered});
    world_->clock.advance(std::chrono::seconds(61));
    world_->rdma->check_limits();
    co_await world_->settle();
    EXPECT_TRUE(client.disconnected);
    EXPECT_EQ(world_->metrics.closed_transfer.value(), 1U);
    EXPECT_EQ(world_->rdma->connections(), 0U);
  });
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
