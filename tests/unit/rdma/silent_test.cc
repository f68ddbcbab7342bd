// Short replies: the device copies them, and nobody is told when they have been sent.
#include <gtest/gtest.h>

#include "tests/unit/rdma/connection_fixture.h"

namespace braid::rdma {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): the words of these tests

class SilentTest : public ConnectionTest {
 protected:
  // Calls one after the other, each with a short reply.
  io::Op<> call_often(SimClient& client, std::uint32_t times) {
    for (std::uint32_t i = 0; i < times; ++i) {
      client.send(Wire(7, 32, 0).with(call(7, proc_null)));
      const Bytes answer = co_await answer_to(client);
      EXPECT_EQ(answer, joined(words({7, 1, credits_max, 0, 0, 0, 0}), success(7)));
    }
  }
  [[nodiscard]] std::uint64_t heard() const { return world_->host.stats().heard; }
};

TEST_F(SilentTest, one_of_seventeen_short_replies_is_heard_of) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    co_await call_often(client, 16);
    EXPECT_EQ(heard(), 0U);
    co_await call_often(client, 1);
    EXPECT_EQ(heard(), 1U);
    co_await call_often(client, 10 * 17);
    EXPECT_EQ(heard(), 11U);
  });
}

TEST_F(SilentTest, what_the_device_does_not_copy_is_heard_of) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    client.send(Wire(7, 32, 0).with(call(7, proc_read, words({1, 600}))));
    EXPECT_FALSE((co_await answer_to(client)).empty());
    EXPECT_EQ(heard(), 1U);
    const Offer sink = client.writable(100);
    client.send(Wire(7, 32, 0).write({sink.segment()}).with(call(7, proc_read, words({1, 100}))));
    EXPECT_FALSE((co_await answer_to(client)).empty());
    EXPECT_EQ(heard(), 2U);
  });
}

TEST_F(SilentTest, a_device_that_copies_nothing_is_heard_of_each_time) {
  make();
  world_->host.set_copied_max(0);
  world_->run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    co_await call_often(client, 5);
    EXPECT_EQ(heard(), 5U);
  });
}

// More of them than the client has credits for, so they count no more.
TEST_F(SilentTest, their_memory_is_free_before_the_device_has_sent_them) {
  WorldOptions options;
  options.rdma.credits = 4;
  run(
      [&]() -> io::Op<> {
        SimClient& client = *co_await world_->connect();
        world_->host.hold_completions(true);
        for (std::uint32_t i = 0; i < 16; ++i) {
          client.send(Wire(i, 4, 0).with(call(i, proc_null)));
          co_await world_->settle();
        }
        EXPECT_EQ(client.messages.size(), 16U);
      },
      options);
}

TEST_F(SilentTest, one_that_fails_ends_the_connection) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    co_await call_often(client, 3);
    world_->host.inject({Opcode::send, 1, sim::Fault::Kind::fail, WorkStatus::unanswered});
    co_await call_often(client, 1);
    client.send(Wire(7, 32, 0).with(call(7, proc_null)));
    co_await world_->settle();
    EXPECT_TRUE(client.disconnected);
    EXPECT_EQ(world_->metrics.closed_transfer.value(), 1U);
    EXPECT_EQ(world_->rdma->connections(), 0U);
  });
}

TEST_F(SilentTest, a_sweep_asks_once_whether_they_have_arrived) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    co_await call_often(client, 3);
    for (int sweep = 0; sweep < 3; ++sweep) {
      world_->rdma->check_limits();
      co_await world_->settle();
      EXPECT_EQ(world_->host.stats().count(Opcode::write), 1U);
      EXPECT_EQ(heard(), 1U);
    }
    co_await call_often(client, 16);
    EXPECT_EQ(heard(), 1U);
  });
}

TEST_F(SilentTest, a_drain_waits_until_they_have_arrived) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    co_await call_often(client, 1);
    world_->host.hold_completions(true);
    std::optional<bool> drained;
    io::Gate gate;
    auto drain = [&]() -> io::Op<> { drained = co_await world_->rdma->drain(std::chrono::hours(1)); };
    io::spawn(gate, drain());
    co_await world_->settle();
    world_->clock.advance(std::chrono::seconds(1));
    co_await world_->settle();
    EXPECT_FALSE(drained.has_value());
    world_->host.hold_completions(false);
    co_await world_->settle();
    world_->clock.advance(std::chrono::seconds(1));
    co_await world_->settle();
    EXPECT_EQ(drained, true);
  });
}

}  // namespace
}  // namespace braid::rdma
