// An address has its turn of a reactor over RDMA, too, whatever number of connections it has.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "io/gate.h"
#include "tests/unit/rdma/connection_fixture.h"
#include "tests/unit/rpc/slow_program.h"

namespace braid::rdma {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): the words of these tests
using rpc::test::SlowProgram;

class TurnsTest : public testing::Test {
 protected:
  explicit TurnsTest(const WorldOptions& options = {}) : world(program.programs, options) {
    other_host.come_from({.bytes = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}, .port = 0});
    program.service.clock = &world.clock;
  }
  // Of hosts with different addresses.
  SimClient& client_of(sim::Host& host) {
    return *world.clients.emplace_back(
        std::make_unique<SimClient>(host, world.address, ClientOptions{.receives = 200}));
  }
  std::vector<SimClient*> clients(std::uint32_t count) {
    std::vector<SimClient*> out;
    for (std::uint32_t i = 0; i < count; ++i) out.push_back(&client_of(world.client_host));
    return out;
  }
  static void call(SimClient& client, std::uint32_t xid, std::uint32_t procedure) {
    client.send(Wire(xid, 32, 0).with(rpc::test::call_of(xid, SlowProgram::number, 1, procedure)));
  }
  static void work(SimClient& client, std::uint32_t calls) {
    for (std::uint32_t xid = 1; xid <= calls; ++xid) call(client, xid, SlowProgram::work);
  }

  // The same, of which all but the header is to be read from the client's memory, which is to live until
  // then.
  static void offer(SimClient& client, std::uint32_t xid, const Offer& call) {
    client.send(Wire(xid, 32, 1).read(0, call.segment()).with());
  }
  static Offer offered(SimClient& client, std::uint32_t xid, std::uint32_t procedure,
                       const Bytes& args = {}) {
    return client.readable(rpc::test::call_of(xid, SlowProgram::number, 1, procedure, args));
  }

  SlowProgram program;
  World world;
  sim::Host other_host{world.fabric, "other"};
};

TEST_F(TurnsTest, an_address_with_many_connections_has_one_turn) {
  constexpr std::uint32_t connections = 40, calls = 20;
  world.run([&]() -> io::Op<> {
    const std::vector<SimClient*> crowd = clients(connections);
    SimClient& modest = client_of(other_host);
    co_await world.settle();
    for (SimClient* const one : crowd) work(*one, calls);
    call(modest, 1, SlowProgram::look);
    while (modest.messages.empty()) co_await world.loop.reactor().yield();
    EXPECT_LE(program.service.worked_before_look, 8U);
    while (program.service.worked < connections * calls) co_await world.loop.reactor().next_turn();
    co_await world.settle();
    for (const SimClient* const one : crowd) EXPECT_EQ(one->messages.size(), calls);
  });
}

// What a call brings is read while its address has had its turn; then the call waits for another one.
TEST_F(TurnsTest, calls_whose_data_has_been_read_wait_for_their_turn) {
  constexpr std::uint32_t connections = 40, calls = 6;
  world.run([&]() -> io::Op<> {
    const std::vector<SimClient*> crowd = clients(connections);
    SimClient& modest = client_of(other_host);
    co_await world.settle();
    std::deque<Offer> offers;
    for (std::uint32_t xid = 1; xid <= calls; ++xid)
      for (SimClient* const one : crowd)
        offer(*one, xid, offers.emplace_back(offered(*one, xid, SlowProgram::work)));
    offer(modest, 1, offers.emplace_back(offered(modest, 1, SlowProgram::look)));
    while (modest.messages.empty()) co_await world.loop.reactor().yield();
    EXPECT_LE(program.service.worked_before_look, 8U);
    while (program.service.worked < connections * calls) co_await world.loop.reactor().next_turn();
    co_await world.settle();
    for (const SimClient* const one : crowd) EXPECT_EQ(one->messages.size(), calls);
  });
}

TEST_F(TurnsTest, a_connection_may_end_while_calls_whose_data_has_been_read_wait) {
  constexpr std::uint32_t calls = 12;
  world.run([&]() -> io::Op<> {
    const std::vector<SimClient*> crowd = clients(3);
    co_await world.settle();
    std::deque<Offer> offers;
    for (std::uint32_t xid = 1; xid <= calls; ++xid)
      for (SimClient* const one : crowd)
        offer(*one, xid, offers.emplace_back(offered(*one, xid, SlowProgram::work)));
    while (program.service.worked == 0) co_await world.loop.reactor().yield();
    crowd[0]->disconnect();
    crowd[1]->disconnect();
    while (crowd[2]->messages.size() < calls) co_await world.loop.reactor().next_turn();
    co_await world.settle();
    EXPECT_EQ(world.rdma->connections(), 1U);
    EXPECT_LT(program.service.worked, 3 * calls) << "of those that are gone some were never done";
  });
}

TEST_F(TurnsTest, a_drain_waits_for_calls_whose_data_has_been_read) {
  constexpr std::uint32_t calls = 12;
  world.run([&]() -> io::Op<> {
    SimClient& client = client_of(world.client_host);
    co_await world.settle();
    world.host.hold_completions(true);
    std::deque<Offer> offers;
    for (std::uint32_t xid = 1; xid <= calls; ++xid)
      offer(client, xid, offers.emplace_back(offered(client, xid, SlowProgram::work)));
    co_await world.settle();
    EXPECT_EQ(world.host.stats().count(Opcode::read), calls);
    std::optional<bool> drained;
    io::Gate gate;
    auto drain = [&]() -> io::Op<> { drained = co_await world.rdma->drain(std::chrono::hours(1)); };
    io::spawn(gate, drain());
    world.host.hold_completions(false);
    for (std::uint32_t turn = 0; turn < 10 * calls; ++turn) co_await world.loop.reactor().next_turn();
    EXPECT_EQ(program.service.worked, calls);
    co_await world.settle();
    world.clock.advance(std::chrono::seconds(1));
    co_await world.settle();
    EXPECT_EQ(drained, true);
    EXPECT_EQ(client.messages.size(), calls);
  });
}

class FewReadsTest : public TurnsTest {
 protected:
  static constexpr std::uint32_t at_once = 4;
  static WorldOptions few() {
    WorldOptions options;
    options.rdma.chunk_reads_bytes_max = at_once * base::MiB;
    return options;
  }
  FewReadsTest() : TurnsTest(few()) {}
};

// 70,000 bytes take a slab of 1 MiB.
TEST_F(FewReadsTest, calls_that_wait_for_their_turn_hold_slabs_as_those_that_are_being_read) {
  constexpr std::uint32_t calls = 30;
  world.run([&]() -> io::Op<> {
    SimClient& client = client_of(world.client_host);
    co_await world.settle();
    std::deque<Offer> offers;
    for (std::uint32_t xid = 1; xid <= calls; ++xid)
      offer(client, xid, offers.emplace_back(offered(client, xid, SlowProgram::work, Bytes(70'000))));
    while (program.service.worked < calls) {
      co_await world.loop.reactor().yield();
      EXPECT_LE(world.host.stats().count(Opcode::read), program.service.worked + at_once);
    }
    co_await world.settle();
    EXPECT_EQ(client.messages.size(), calls);
  });
}

TEST_F(TurnsTest, connections_of_an_address_have_their_turns_in_order) {
  constexpr std::uint32_t connections = 10, calls = 20;
  world.run([&]() -> io::Op<> {
    const std::vector<SimClient*> crowd = clients(connections);
    co_await world.settle();
    for (SimClient* const one : crowd) work(*one, calls);
    while (program.service.worked < connections * calls) co_await world.loop.reactor().next_turn();
    co_await world.settle();
    // Replies tell how much was worked before: everybody's first one comes early, nobody's last one does.
    std::uint32_t latest_first = 0, earliest_last = connections * calls;
    for (const SimClient* const one : crowd) {
      const auto worked = [](const Bytes& reply) { return rpc::test::u32_at(reply, reply.size() - 4); };
      EXPECT_EQ(one->messages.size(), calls);
      if (one->messages.empty()) continue;
      latest_first = std::max(latest_first, worked(one->messages.front()));
      earliest_last = std::min(earliest_last, worked(one->messages.back()));
    }
    EXPECT_GT(latest_first, 0U);
    EXPECT_LE(latest_first, connections * 4);
    EXPECT_GE(earliest_last, connections * (calls - 4));
  });
}

TEST_F(TurnsTest, a_connection_that_ends_while_it_waits_gives_its_place_to_the_next) {
  constexpr std::uint32_t calls = 20;
  world.run([&]() -> io::Op<> {
    const std::vector<SimClient*> crowd = clients(10);
    co_await world.settle();
    for (SimClient* const one : crowd) work(*one, calls);
    while (program.service.worked == 0) co_await world.loop.reactor().yield();
    for (std::size_t i = 1; i + 1 < crowd.size(); ++i) crowd[i]->disconnect();
    while (crowd.back()->messages.size() < calls) co_await world.loop.reactor().next_turn();
    co_await world.settle();
    EXPECT_EQ(world.rdma->connections(), 2U);
    EXPECT_EQ(crowd.front()->messages.size(), calls);
  });
}

}  // namespace
}  // namespace braid::rdma
