// Registrations, and devices and peers that fail.
#include <gtest/gtest.h>

#include "tests/unit/rdma/connection_fixture.h"

namespace braid::rdma {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): the words of these tests

// Registrations.
TEST_F(ConnectionTest, the_cache_registers_nothing_for_a_call_and_dynamic_every_transfer) {
  for (const Registration strategy : {Registration::cache, Registration::dynamic, Registration::odp}) {
    WorldOptions options;
    options.registration = strategy;
    run(
        [&]() -> io::Op<> {
          SimClient& client = *co_await world_->connect();
          const Offer sink = client.writable(1000);
          for (std::uint32_t round = 0; round < 2; ++round) {
            const std::uint64_t before = world_->metrics.registration.made.value();
            const Offer again = client.writable(1000);
            client.send(Wire(7, 32, 0).write({again.segment()}).with(call(7, proc_read, words({1, 1000}))));
            (void)co_await answer_to(client);
            EXPECT_EQ(world_->metrics.registration.made.value() - before,
                      strategy == Registration::dynamic ? 1U : 0U);
          }
          (void)sink;
        },
        options);
  }
}

TEST_F(ConnectionTest, a_registration_that_fails_ends_the_connection) {
  WorldOptions options;
  options.registration = Registration::dynamic;
  run(
      [&]() -> io::Op<> {
        SimClient& client = *co_await world_->connect();
        const Offer sink = client.writable(1000);
        world_->host.refuse_registrations(1);
        client.send(Wire(7, 32, 0).write({sink.segment()}).with(call(7, proc_read, words({1, 1000}))));
        const Bytes answer = co_await answer_to(client);
        EXPECT_TRUE(answer.empty());
        EXPECT_TRUE(client.disconnected);
      },
      options);
}

// The fault matrix: whatever fails, in whatever phase, nothing is left behind (World::run looks) and the
// server goes on serving others.
struct FaultCase {
  const char* name;
  sim::Fault fault;
};

class FaultTest : public ConnectionTest, public testing::WithParamInterface<FaultCase> {};

TEST_P(FaultTest, ends_the_connection_cleanly) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    const Offer source = client.readable(patterned(3000));
    const Offer sink = client.writable(200'000);
    world_->host.inject(GetParam().fault);
    client.send(Wire(1, 32, 0)
                    .read(44, source.segment(0, 1000))
                    .read(44, source.segment(1000, 2000))
                    .with(call(1, proc_write, words({3000, 5}))));
    client.send(Wire(2, 32, 0)
                    .write({sink.segment(0, 50'000), sink.segment(50'000, 50'000)})
                    .with(call(2, proc_read, words({1, 100'000}))));
    client.send(
        Wire(3, 32, 0).reply({sink.segment(100'000, 100'000)}).with(call(3, proc_list, words({90'000}))));
    client.send(Wire(4, 32, 0).with(call(4, proc_wait)));
    co_await world_->settle();
    EXPECT_TRUE(client.disconnected);
    EXPECT_EQ(world_->rdma->connections(), 0U);
    service_.release();
    SimClient& next = *co_await world_->connect();
    next.send(Wire(7, 32, 0).with(call(7, proc_null)));
    const Bytes answer = co_await answer_to(next);
    EXPECT_EQ(answer, joined(words({7, 1, credits_max, 0, 0, 0, 0}), success(7)));
  });
}

using enum sim::Fault::Kind;
INSTANTIATE_TEST_SUITE_P(
    Phases, FaultTest,
    testing::Values(
        FaultCase{"first_read_fails", {Opcode::read, 0, fail, WorkStatus::remote_access}},
        FaultCase{"second_read_fails", {Opcode::read, 1, fail, WorkStatus::unanswered}},
        FaultCase{"gone_before_the_first_read", {Opcode::read, 0, disconnect, {}}},
        FaultCase{"gone_between_two_reads", {Opcode::read, 1, disconnect, {}}},
        FaultCase{"first_write_fails", {Opcode::write, 0, fail, WorkStatus::remote_access}},
        FaultCase{"second_write_fails", {Opcode::write, 1, fail, WorkStatus::fatal}},
        FaultCase{"reply_chunk_write_fails", {Opcode::write, 2, fail, WorkStatus::remote_access}},
        FaultCase{"gone_before_the_first_write", {Opcode::write, 0, disconnect, {}}},
        FaultCase{"gone_between_two_writes", {Opcode::write, 1, disconnect, {}}},
        FaultCase{"send_is_not_received", {Opcode::send_invalidate, 2, fail, WorkStatus::not_received}},
        FaultCase{"send_is_not_answered", {Opcode::send_invalidate, 0, fail, WorkStatus::unanswered}},
        FaultCase{"gone_before_the_send", {Opcode::send_invalidate, 0, disconnect, {}}},
        FaultCase{"gone_before_a_later_send", {Opcode::send_invalidate, 1, disconnect, {}}}),
    [](const auto& one) { return std::string(one.param.name); });

TEST_F(ConnectionTest, a_client_that_vanishes_is_forgotten_in_every_turn) {
  make();
  world_->run([&]() -> io::Op<> {
    // After so many turns of the loop, from before the connection is set up until after the replies.
    for (int turns = 0; turns < 40; ++turns) {
      SimClient& client =
          *world_->clients.emplace_back(std::make_unique<SimClient>(world_->client_host, world_->address));
      for (int i = 0; i < 12; ++i) co_await world_->loop.reactor().yield();
      if (!client.established) co_await world_->settle();
      const Offer source = client.readable(patterned(3000));
      const Offer sink = client.writable(100'000);
      client.send(Wire(1, 32, 0).read(44, source.segment()).with(call(1, proc_write, words({3000, 5}))));
      client.send(Wire(2, 32, 0).write({sink.segment()}).with(call(2, proc_read, words({1, 100'000}))));
      for (int i = 0; i < turns; ++i) co_await world_->loop.reactor().yield();
      client.disconnect();
      co_await world_->settle();
      EXPECT_EQ(world_->rdma->connections(), 0U) << turns;
      EXPECT_EQ(world_->pool.stats().bytes_used % io::small_slab_bytes, 0U);
    }
  });
}

TEST_F(ConnectionTest, memory_stays_with_the_device_until_late_completions_have_come) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    const Offer sink = client.writable(100'000);
    world_->host.hold_completions(true);
    client.send(Wire(2, 32, 0).write({sink.segment()}).with(call(2, proc_read, words({1, 100'000}))));
    co_await world_->settle();
    EXPECT_EQ(client.messages.size(), 1U);
    client.disconnect();
    co_await world_->settle();
    EXPECT_EQ(world_->rdma->connections(), 1U);
    EXPECT_GE(world_->pool.stats().bytes_used, 100'000U);
    world_->host.hold_completions(false);
    co_await world_->settle();
    EXPECT_EQ(world_->rdma->connections(), 0U);
  });
}

TEST_F(ConnectionTest, what_a_device_does_not_flush_is_taken_back_when_its_time_has_passed) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    const Offer sink = client.writable(100'000);
    client.send(Wire(2, 32, 0).write({sink.segment()}).with(call(2, proc_late, words({1, 100'000}))));
    co_await world_->settle();
    world_->host.never_flush();
    client.disconnect();
    co_await world_->settle();
    world_->rdma->check_limits();
    co_await world_->settle();
    EXPECT_EQ(world_->rdma->connections(), 1U);
    EXPECT_GE(world_->pool.stats().bytes_used, 128 * 4096U);
    co_await world_->flush_limit_passes();
    EXPECT_EQ(world_->rdma->connections(), 0U);
    service_.release();
  });
}

TEST_F(ConnectionTest, a_worker_ends_although_the_device_does_not_flush) {
  run([&]() -> io::Op<> {
    (void)co_await world_->connect();
    world_->host.never_flush();
    bool closed = false;
    io::Gate gate;
    auto close = [&]() -> io::Op<> {
      co_await world_->rdma->close();
      closed = true;
    };
    io::spawn(gate, close());
    co_await world_->settle();
    EXPECT_FALSE(closed);
    for (int sweeps = 0; sweeps < 3; ++sweeps) {
      world_->clock.advance(std::chrono::seconds(5));
      co_await world_->settle();
    }
    EXPECT_TRUE(closed);
    EXPECT_EQ(world_->rdma->connections(), 0U);
  });
}

TEST_F(ConnectionTest, a_device_that_cannot_invalidate_is_not_asked_to) {
  WorldOptions options;
  options.device.sends_invalidate = false;
  run(
      [&]() -> io::Op<> {
        SimClient& client = *co_await world_->connect();
        EXPECT_FALSE(client.server.remote_invalidation);
        const Offer sink = client.writable(1000);
        client.send(Wire(7, 32, 0).write({sink.segment()}).with(call(7, proc_read, words({1, 1000}))));
        const Bytes answer = co_await answer_to(client);
        EXPECT_FALSE(answer.empty());
        EXPECT_FALSE(client.disconnected);
        EXPECT_EQ(world_->metrics.invalidated.value(), 0U);
      },
      options);
}

TEST_F(ConnectionTest, a_post_that_the_device_refuses_ends_the_connection) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    world_->host.refuse_posts(1);
    client.send(Wire(7, 32, 0).with(call(7, proc_null)));
    const Bytes answer = co_await answer_to(client);
    EXPECT_TRUE(answer.empty());
    EXPECT_TRUE(client.disconnected);
  });
}

TEST_F(ConnectionTest, a_device_without_room_for_the_queues_refuses_clients) {
  WorldOptions options;
  options.device.requests_max = 100;
  run(
      [&]() -> io::Op<> {
        SimClient& client = *co_await world_->connect();
        EXPECT_FALSE(client.established);
        EXPECT_TRUE(client.disconnected);
        EXPECT_EQ(world_->metrics.refused(Refusal::no_resources).value(), 1U);
      },
      options);
}

}  // namespace
}  // namespace braid::rdma
