// An address has its turn of a reactor over RDMA, too, whatever number of connections it has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/unit/rdma/connection_fixture.h"
#include "tests/unit/rpc/slow_program.h"

namespace braid::rdma {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): the words of these tests
using rpc::test::SlowProgram;

class TurnsTest : public testing::Test {
 protected:
  TurnsTest() {
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

  SlowProgram program;
  World world{program.programs};
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
