// A connection leaves a reactor to others after a while.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/manual/manual_clock.h"
#include "tests/unit/rpc/slow_program.h"
#include "tests/unit/rpc/tcp_fixture.h"

namespace braid::rpc {
namespace {

struct SlowServer {
  SlowServer() { program.service.clock = &clock; }
  [[nodiscard]] test::TcpServerOptions options() {
    test::TcpServerOptions out;
    out.clock = &clock;
    return out;
  }

  base::ManualClock clock;
  test::SlowProgram program;
  test::TcpServer server{options(), program.programs};
};

base::Bytes calls_of_work(std::uint32_t count) {
  base::Bytes out;
  for (std::uint32_t xid = 1; xid <= count; ++xid)
    test::append(out,
                 test::record(test::call_of(xid, test::SlowProgram::number, 1, test::SlowProgram::work)));
  return out;
}

TEST(TcpTurnsTest, a_connection_whose_calls_take_long_lets_others_have_their_turn) {
  constexpr std::uint32_t calls = 200;
  SlowServer of;
  test::SlowService& slow = of.program.service;
  test::TcpServer& server = of.server;
  test::RawClient greedy(server.address);
  test::RawClient modest(server.address);
  ASSERT_TRUE(test::eventually([&] { return server.connections() == 2; }));
  const base::Bytes stream = calls_of_work(calls);
  // While the reactor is busy: it finds all calls at once, those of the greedy client first.
  server.first().call([&] {
    ASSERT_TRUE(greedy.send(stream));
    ASSERT_TRUE(
        modest.send(test::record(test::call_of(1, test::SlowProgram::number, 1, test::SlowProgram::look))));
  });
  EXPECT_TRUE(modest.receive());
  for (std::uint32_t i = 0; i < calls; ++i) ASSERT_TRUE(greedy.receive());
  EXPECT_LE(slow.worked_before_look, 8U);
}

TEST(TcpTurnsTest, an_address_with_many_connections_has_one_turn) {
  constexpr std::uint32_t connections = 40, calls = 20;
  constexpr std::uint8_t host = 2;
  SlowServer of;
  test::SlowService& slow = of.program.service;
  test::TcpServer& server = of.server;
  std::vector<std::unique_ptr<test::RawClient>> crowd;
  for (std::uint32_t i = 0; i < connections; ++i)
    crowd.push_back(std::make_unique<test::RawClient>(server.address, 0, host));
  test::RawClient modest(server.address);
  ASSERT_TRUE(test::eventually([&] { return server.connections() == connections + 1; }));
  const base::Bytes stream = calls_of_work(calls);
  server.first().call([&] {
    for (const auto& one : crowd) ASSERT_TRUE(one->send(stream));
    ASSERT_TRUE(
        modest.send(test::record(test::call_of(1, test::SlowProgram::number, 1, test::SlowProgram::look))));
  });
  EXPECT_TRUE(modest.receive());
  for (const auto& one : crowd)
    for (std::uint32_t i = 0; i < calls; ++i) ASSERT_TRUE(one->receive());
  EXPECT_LE(slow.worked_before_look, 8U);
  EXPECT_EQ(slow.worked.load(), connections * calls);
}

// Its own connections take turns, too.
TEST(TcpTurnsTest, connections_of_an_address_have_their_turns_in_order) {
  constexpr std::uint32_t connections = 10, calls = 20;
  SlowServer of;
  test::TcpServer& server = of.server;
  std::vector<std::unique_ptr<test::RawClient>> crowd;
  for (std::uint32_t i = 0; i < connections; ++i)
    crowd.push_back(std::make_unique<test::RawClient>(server.address));
  ASSERT_TRUE(test::eventually([&] { return server.connections() == connections; }));
  const base::Bytes stream = calls_of_work(calls);
  server.first().call([&] {
    for (const auto& one : crowd) ASSERT_TRUE(one->send(stream));
  });
  // Replies tell how much was worked before: everybody's first one comes early, nobody's last one does.
  std::uint32_t latest_first = 0, earliest_last = connections * calls;
  for (const auto& one : crowd) {
    std::uint32_t worked = 0;
    for (std::uint32_t i = 0; i < calls; ++i) {
      const auto reply = one->receive();
      ASSERT_TRUE(reply);
      worked = test::u32_at(*reply, reply->size() - 4);
      if (i == 0) latest_first = std::max(latest_first, worked);
    }
    earliest_last = std::min(earliest_last, worked);
  }
  EXPECT_LE(latest_first, connections * 4);
  EXPECT_GE(earliest_last, connections * (calls - 4));
}

}  // namespace
}  // namespace braid::rpc
