// A connection leaves a reactor to others after a while.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/manual/manual_clock.h"
#include "rpc/program.h"
#include "tests/unit/rpc/tcp_fixture.h"

namespace braid::rpc {
namespace {

using namespace std::chrono_literals;

// Calls that take half a millisecond of work each, with short replies.
struct SlowService final : Service {
  base::ManualClock clock;
  // The test reads them.
  std::atomic<std::uint32_t> worked{0}, worked_before_look{0};
};
io::Op<Answer> work_slowly(Service& service, Call&, Reply& reply) {
  auto& slow = static_cast<SlowService&>(service);
  slow.clock.advance(500us);
  reply.begin().u32(++slow.worked);
  return Answer::success;
}
io::Op<Answer> look_at_work(Service& service, Call&, Reply& reply) {
  auto& slow = static_cast<SlowService&>(service);
  slow.worked_before_look = slow.worked.load();
  reply.begin();
  return Answer::success;
}

TEST(TcpTurnsTest, a_connection_whose_calls_take_long_lets_others_have_their_turn) {
  constexpr std::uint32_t number = 0x20000077, calls = 200;
  SlowService slow;
  const std::vector<Procedure> slow_procedures{{.name = "WORK", .handler = work_slowly, .reply_bytes_max = 4},
                                               {.name = "LOOK", .handler = look_at_work}};
  const std::vector<Version> slow_versions{{.number = 1, .procedures = slow_procedures}};
  const std::vector<Program> more{
      {.number = number, .name = "slow", .versions = slow_versions, .service = &slow}};
  test::TcpServerOptions options;
  options.clock = &slow.clock;
  test::TcpServer server(options, more);
  test::RawClient greedy(server.address);
  test::RawClient modest(server.address);
  ASSERT_TRUE(test::eventually([&] { return server.connections() == 2; }));
  base::Bytes stream;
  for (std::uint32_t xid = 1; xid <= calls; ++xid)
    test::append(stream, test::record(test::call_of(xid, number, 1, 0)));
  // While the reactor is busy: it finds all calls at once, those of the greedy client first.
  server.first().call([&] {
    ASSERT_TRUE(greedy.send(stream));
    ASSERT_TRUE(modest.send(test::record(test::call_of(1, number, 1, 1))));
  });
  EXPECT_TRUE(modest.receive());
  for (std::uint32_t i = 0; i < calls; ++i) ASSERT_TRUE(greedy.receive());
  EXPECT_LE(slow.worked_before_look, 8U);
}

TEST(TcpTurnsTest, an_address_with_many_connections_has_one_turn) {
  constexpr std::uint32_t number = 0x20000077, connections = 40, calls = 20;
  constexpr std::uint8_t host = 2;
  SlowService slow;
  const std::vector<Procedure> slow_procedures{{.name = "WORK", .handler = work_slowly, .reply_bytes_max = 4},
                                               {.name = "LOOK", .handler = look_at_work}};
  const std::vector<Version> slow_versions{{.number = 1, .procedures = slow_procedures}};
  const std::vector<Program> more{
      {.number = number, .name = "slow", .versions = slow_versions, .service = &slow}};
  test::TcpServerOptions options;
  options.clock = &slow.clock;
  test::TcpServer server(options, more);
  std::vector<std::unique_ptr<test::RawClient>> crowd;
  for (std::uint32_t i = 0; i < connections; ++i)
    crowd.push_back(std::make_unique<test::RawClient>(server.address, 0, host));
  test::RawClient modest(server.address);
  ASSERT_TRUE(test::eventually([&] { return server.connections() == connections + 1; }));
  base::Bytes stream;
  for (std::uint32_t xid = 1; xid <= calls; ++xid)
    test::append(stream, test::record(test::call_of(xid, number, 1, 0)));
  server.first().call([&] {
    for (const auto& one : crowd) ASSERT_TRUE(one->send(stream));
    ASSERT_TRUE(modest.send(test::record(test::call_of(1, number, 1, 1))));
  });
  EXPECT_TRUE(modest.receive());
  for (const auto& one : crowd)
    for (std::uint32_t i = 0; i < calls; ++i) ASSERT_TRUE(one->receive());
  EXPECT_LE(slow.worked_before_look, 8U);
  EXPECT_EQ(slow.worked.load(), connections * calls);
}

// Its own connections take turns, too.
TEST(TcpTurnsTest, connections_of_an_address_have_their_turns_in_order) {
  constexpr std::uint32_t number = 0x20000077, connections = 10, calls = 20;
  SlowService slow;
  const std::vector<Procedure> slow_procedures{
      {.name = "WORK", .handler = work_slowly, .reply_bytes_max = 4}};
  const std::vector<Version> slow_versions{{.number = 1, .procedures = slow_procedures}};
  const std::vector<Program> more{
      {.number = number, .name = "slow", .versions = slow_versions, .service = &slow}};
  test::TcpServerOptions options;
  options.clock = &slow.clock;
  test::TcpServer server(options, more);
  std::vector<std::unique_ptr<test::RawClient>> crowd;
  for (std::uint32_t i = 0; i < connections; ++i)
    crowd.push_back(std::make_unique<test::RawClient>(server.address));
  ASSERT_TRUE(test::eventually([&] { return server.connections() == connections; }));
  base::Bytes stream;
  for (std::uint32_t xid = 1; xid <= calls; ++xid)
    test::append(stream, test::record(test::call_of(xid, number, 1, 0)));
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
