// A steady stream of small calls must not touch the heap: not in the server, not in the client.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "base/manual/manual_clock.h"
#include "rpc/client.h"
#include "rpc/tcp_connect.h"
#include "tests/unit/rpc/tcp_fixture.h"

namespace {

std::atomic<std::uint64_t> allocations{0};

void* counted(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::malloc(bytes);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace braid::rpc {
namespace {

class AllocationTest : public testing::Test {
 protected:
  // How many allocations the whole process makes for `calls` calls with `depth` under way at a time, after a
  // warm-up.
  std::uint64_t allocations_of(std::uint32_t procedure, std::uint32_t calls, std::uint32_t depth,
                               std::size_t bytes) {
    base::Bytes args;
    if (procedure == test::proc_echo || procedure == test::proc_sleepy)
      args = test::opaque_of(base::Bytes(bytes));
    const base::Bytes call = test::record(test::test_call(1, procedure, args));
    base::Bytes batch;
    for (std::uint32_t i = 0; i < depth; ++i) test::append(batch, call);
    test::RawClient client(server_.address);
    EXPECT_TRUE(client.send(call));
    base::Bytes replies((client.receive()->size() + 4) * depth);
    const auto round = [&] {
      EXPECT_TRUE(client.send(batch));
      const ssize_t n = test::uninterrupted(
          [&] { return ::recv(client.fd(), replies.data(), replies.size(), MSG_WAITALL); });
      EXPECT_EQ(n, static_cast<ssize_t>(replies.size()));
    };
    for (std::uint32_t i = 0; i < 1000; i += depth) round();
    const std::uint64_t before = allocations.load();
    for (std::uint32_t i = 0; i < calls; i += depth) round();
    return allocations.load() - before;
  }
  static test::TcpServerOptions options_of(const base::Clock& clock) {
    test::TcpServerOptions out;
    out.clock = &clock;
    return out;
  }
  // It stands still: who is interrupted for a millisecond has had a turn, and waits for the next one in a
  // frame that is made when it is wanted first.
  base::ManualClock clock_;
  test::TcpServer server_{options_of(clock_)};
};

TEST_F(AllocationTest, the_counter_counts) {
  const std::uint64_t before = allocations.load();
  delete new int;
  EXPECT_GE(allocations.load() - before, 1U);
}

TEST_F(AllocationTest, null_calls_allocate_nothing) {
  EXPECT_EQ(allocations_of(test::proc_null, 2000, 1, 0), 0U);
  EXPECT_EQ(allocations_of(test::proc_null, 20'000, 16, 0), 0U);
}

TEST_F(AllocationTest, calls_that_are_answered_at_once_allocate_nothing) {
  EXPECT_EQ(allocations_of(test::proc_echo, 20'000, 16, 100), 0U);
}

TEST_F(AllocationTest, calls_that_wait_allocate_nothing) {
  EXPECT_EQ(allocations_of(test::proc_sleepy, 20'000, 16, 100), 0U);
}

TEST_F(AllocationTest, calls_whose_replies_are_not_kept_after_all_allocate_nothing) {
  EXPECT_EQ(allocations_of(test::proc_weak, 20'000, 16, 0), 0U);
}

TEST_F(AllocationTest, the_client_allocates_nothing_per_call) {
  test::Loop loop(clock_);
  std::uint64_t counted_allocations = ~std::uint64_t{0};
  loop.run([&]() -> io::Op<> {
    TcpWorker tcp(loop.reactor(), server_.pool, nullptr, TcpOptions{}, server_.tcp_metrics);
    {
      Client client(loop.reactor(), server_.pool, 1);
      client.attach(tcp.open(co_await tcp_connect(loop.reactor(), server_.address), client));
      const auto stream = [](Client& through, int calls) -> io::Op<> {
        for (int i = 0; i < calls; ++i) {
          const ProcedureId id{test::program_number, test::version_low, test::proc_null};
          const auto nothing = [](xdr::Encoder&) {};
          auto results = co_await through.call(id, {}, nothing).as_result();
          EXPECT_TRUE(results);
        }
      };
      const auto run = [&](int calls) -> io::Op<> {
        io::Gate gate;
        for (int i = 0; i < 16; ++i) io::spawn(gate, stream(client, calls));
        co_await gate.drained();
      };
      co_await run(200);
      const std::uint64_t before = allocations.load();
      co_await run(1000);
      counted_allocations = allocations.load() - before;
      co_await client.close();
    }
    co_await tcp.close();
  });
  EXPECT_EQ(counted_allocations, 0U);
}

}  // namespace
}  // namespace braid::rpc
