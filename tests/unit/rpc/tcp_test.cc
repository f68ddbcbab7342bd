// RPC over real TCP connections: records in every shape, many connections, limits, the end of a server.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <vector>

#include "base/manual/manual_clock.h"
#include "tests/unit/rpc/tcp_fixture.h"

namespace {
std::atomic<int> asked_to_acknowledge = 0;
}

// In place of the C library's, for the whole program: notes how often the kernel is asked to acknowledge at
// once.
extern "C" int setsockopt(int fd, int level, int name, const void* value, socklen_t size) noexcept {
  if (level == IPPROTO_TCP && name == TCP_QUICKACK) ++asked_to_acknowledge;
  return static_cast<int>(::syscall(SYS_setsockopt, fd, level, name, value, size));
}

namespace braid::rpc {
namespace {

using namespace std::chrono_literals;
using base::Bytes;
using base::BytesView;
using test::append;
using test::fragment;
using test::opaque_of;
using test::pattern;
using test::RawClient;
using test::record;
using test::TcpServer;
using test::TcpServerOptions;
using test::test_call;
using test::words;

Bytes echo_reply(std::uint32_t xid, BytesView data) {
  Bytes out = words({xid, 1, 0, 0, 0, 0});
  append(out, opaque_of(data));
  return out;
}

TEST(TcpTest, a_call_is_answered) {
  TcpServer server;
  RawClient client(server.address);
  ASSERT_TRUE(client.send(record(test_call(1, test::proc_null))));
  EXPECT_TRUE(client.receives(words({1, 1, 0, 0, 0, 0})));
}

TEST(TcpTest, pipelined_calls_are_all_answered) {
  TcpServer server;
  RawClient client(server.address);
  Bytes stream;
  for (std::uint32_t xid = 0; xid < 1000; ++xid)
    append(stream, record(test_call(xid, xid % 3 == 0 ? test::proc_sleepy : test::proc_echo,
                                    opaque_of(pattern(xid)))));
  std::jthread sender([&] { EXPECT_TRUE(client.send(stream)); });
  std::set<std::uint32_t> answered;
  while (answered.size() < 1000) {
    const auto reply = client.receive();
    ASSERT_TRUE(reply);
    const std::uint32_t xid = test::u32_at(*reply, 0);
    EXPECT_TRUE(*reply == echo_reply(xid, pattern(xid))) << xid;
    EXPECT_TRUE(answered.insert(xid).second);
  }
}

TEST(TcpTest, records_of_small_fragments_are_taken) {
  TcpServer server;
  RawClient client(server.address);
  const Bytes data = pattern(20'000);
  const Bytes call = test_call(1, test::proc_echo, opaque_of(data));
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{2048}, std::size_t{8000}}) {
    Bytes stream;
    for (std::size_t at = 0; at < call.size(); at += piece) {
      const std::size_t here = std::min(piece, call.size() - at);
      append(stream, fragment(BytesView(call).subspan(at, here), at + here == call.size()));
    }
    std::jthread sender([&] { EXPECT_TRUE(client.send(stream)); });
    EXPECT_TRUE(client.receives(echo_reply(1, data))) << piece;
  }
}

TEST(TcpTest, a_record_may_come_byte_by_byte) {
  TcpServer server;
  RawClient client(server.address);
  const int on = 1;
  ::setsockopt(client.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const Bytes stream = record(test_call(1, test::proc_echo, opaque_of(pattern(600))));
  for (const std::byte& byte : stream) ASSERT_TRUE(client.send({&byte, 1}));
  EXPECT_TRUE(client.receives(echo_reply(1, pattern(600))));
}

TEST(TcpTest, large_records_are_taken_whole_in_pieces_and_pipelined) {
  TcpServer server;
  RawClient client(server.address);
  for (const std::size_t size : {std::size_t{60'000}, std::size_t{65'536}, std::size_t{70'000},
                                 std::size_t{131'072}, base::MiB - 1, base::MiB}) {
    const Bytes data = pattern(size);
    Bytes stream;
    for (std::uint32_t xid = 1; xid <= 3; ++xid)
      append(stream, record(test_call(xid, test::proc_echo, opaque_of(data))));
    std::jthread sender([&] { EXPECT_TRUE(client.send(stream)); });
    for (std::uint32_t xid = 1; xid <= 3; ++xid) EXPECT_TRUE(client.receives(echo_reply(xid, data))) << size;
  }
}

TEST(TcpTest, a_large_record_that_trickles_in_is_taken) {
  TcpServer server;
  RawClient client(server.address);
  const Bytes data = pattern(300'000);
  const Bytes stream = record(test_call(1, test::proc_echo, opaque_of(data)));
  std::size_t step = 3;
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t here = std::min(step, stream.size() - at);
    ASSERT_TRUE(client.send(BytesView(stream).subspan(at, here)));
    std::this_thread::sleep_for(1ms);
    at += here;
    step = step * 2 + 1;
  }
  EXPECT_TRUE(client.receives(echo_reply(1, data)));
}

// Nagle's algorithm sends the next piece of a record when the one before it is acknowledged, and the kernel
// waits 40 ms with that for an answer to go along: the server has to tell it that there is none yet.
TEST(TcpTest, a_sender_with_nagle_does_not_wait_for_delayed_acknowledgements) {
  TcpServer server;
  RawClient client(server.address);
  const Bytes call = test_call(1, test::proc_echo, opaque_of(pattern(100)));
  for (int round = 0; round < 5; ++round) {
    const int before = asked_to_acknowledge;
    ASSERT_TRUE(client.send(fragment(BytesView(call).first(20), false)));
    ASSERT_TRUE(test::eventually([&] { return asked_to_acknowledge > before; })) << round;
    ASSERT_TRUE(client.send(fragment(BytesView(call).subspan(20), true)));
    ASSERT_TRUE(client.receives(echo_reply(1, pattern(100))));
  }
}

TEST(TcpTest, hopeless_records_end_their_connection_only) {
  TcpServer server;
  RawClient good(server.address);
  Bytes empties;
  for (int i = 0; i < 10'000; ++i) append(empties, words({0}));
  for (const Bytes& stream : {words({0xffffffff}), words({0x7fffffff}), words({0x80200000}), record({}),
                              empties, record(words({1})), record(words({1, 5, 2, 3}))}) {
    RawClient bad(server.address);
    bad.send(stream);
    EXPECT_TRUE(bad.at_end());
    ASSERT_TRUE(good.send(record(test_call(1, test::proc_null))));
    EXPECT_TRUE(good.receives(words({1, 1, 0, 0, 0, 0})));
  }
}

TEST(TcpTest, replies_to_good_calls_precede_the_end_by_a_bad_one) {
  TcpServer server;
  RawClient client(server.address);
  Bytes stream = record(test_call(1, test::proc_null));
  append(stream, words({0xffffffff}));
  ASSERT_TRUE(client.send(stream));
  EXPECT_TRUE(client.receives(words({1, 1, 0, 0, 0, 0})));
  EXPECT_TRUE(client.at_end());
}

TEST(TcpTest, a_client_that_does_not_read_is_not_read_from_and_others_are_served) {
  TcpServerOptions options;
  options.server.connection_bytes_max = 4 * base::MiB;
  options.tcp.send_buffer_bytes = 256 * 1024;
  TcpServer server(options);
  RawClient greedy(server.address, 64 * 1024);
  constexpr std::uint32_t calls = 200;
  std::jthread sender([&] {
    for (std::uint32_t xid = 0; xid < calls; ++xid)
      if (!greedy.send(record(test_call(xid, test::proc_bulk, words({1'000'000}))))) return;
  });
  ASSERT_TRUE(test::eventually([&] { return server.server.budget().used() >= 4'000'000; }));
  RawClient other(server.address);
  for (std::uint32_t xid = 0; xid < 100; ++xid) {
    ASSERT_TRUE(other.send(record(test_call(xid, test::proc_null))));
    ASSERT_TRUE(other.receives(words({xid, 1, 0, 0, 0, 0})));
  }
  EXPECT_LT(server.server.budget().used(), static_cast<std::int64_t>(6 * base::MiB));
  EXPECT_LT(server.pool.stats().bytes_used, 16 * base::MiB);
  for (std::uint32_t xid = 0; xid < calls; ++xid) {
    const auto reply = greedy.receive();
    ASSERT_TRUE(reply);
    ASSERT_EQ(reply->size(), 28U + 1'000'000U);
  }
}

TEST(TcpTest, bytes_in_pipes_are_sent_in_their_place) {
  const base::UniqueFd file(::memfd_create("piped", MFD_CLOEXEC));
  const Bytes data = pattern(base::MiB);
  ASSERT_EQ(::write(file.get(), data.data(), data.size()), static_cast<ssize_t>(data.size()));
  TcpServerOptions options;
  options.tcp.send_buffer_bytes = 128 * 1024;  // so that the socket takes the bytes in several goes
  TcpServer server(options);
  server.service.file = file.get();
  RawClient client(server.address);
  Bytes stream;
  const std::uint32_t sizes[] = {4, 100'000, 1'000'003, 5, 1'048'576};
  std::uint32_t xid = 0;
  for (const std::uint32_t size : sizes) {
    append(stream, record(test_call(++xid, test::proc_piped, words({size}))));
    append(stream, record(test_call(++xid, test::proc_null)));
  }
  ASSERT_TRUE(client.send(stream));
  // More than the socket takes at once.
  ASSERT_TRUE(test::eventually([&] { return server.service.piped >= 3; }));
  xid = 0;
  for (const std::uint32_t size : sizes) {
    EXPECT_TRUE(client.receives(echo_reply(++xid, BytesView(data).first(size)))) << size;
    EXPECT_TRUE(client.receives(words({++xid, 1, 0, 0, 0, 0})));
  }
  EXPECT_EQ(server.service.piped, 5U);
}

TEST(TcpTest, an_exhausted_slab_pool_delays_but_drops_nothing) {
  TcpServerOptions options;
  options.pool.bytes_max = 2 * io::region_bytes;
  TcpServer server(options);
  RawClient client(server.address);
  std::vector<io::SlabRef> all;
  // One region of each size.
  all.push_back(server.pool.acquire(io::SlabSize::large).value());
  while (auto slab = server.pool.acquire(io::SlabSize::small)) all.push_back(std::move(*slab));
  while (auto slab = server.pool.acquire(io::SlabSize::large)) all.push_back(std::move(*slab));
  const Bytes data = pattern(200'000);
  ASSERT_TRUE(client.send(record(test_call(1, test::proc_echo, opaque_of(data)))));
  ASSERT_TRUE(test::eventually([&] { return server.tcp_metrics.memory_waits.value() > 2; }));
  all.clear();
  EXPECT_TRUE(client.receives(echo_reply(1, data)));
}

TEST(TcpTest, slow_lorises_are_ended_and_hold_little) {
  TcpServerOptions options;
  options.tcp.stall_limit = 300ms;
  options.tcp.sweep_interval = 50ms;
  TcpServer server(options);
  std::vector<std::unique_ptr<RawClient>> lorises;
  const Bytes start = record(test_call(1, test::proc_echo, opaque_of(pattern(300))));
  for (int i = 0; i < 100; ++i) {
    auto& loris = *lorises.emplace_back(std::make_unique<RawClient>(server.address));
    ASSERT_TRUE(loris.send(BytesView(start).first(1 + static_cast<std::size_t>(i) * 3)));
  }
  ASSERT_TRUE(test::eventually(
      [&] { return server.connections() == 100 || server.tcp_metrics.closed_stalled.value() > 0; }));
  EXPECT_LE(server.pool.stats().bytes_used, 4 * io::small_slab_bytes);
  RawClient good(server.address);
  ASSERT_TRUE(good.send(record(test_call(1, test::proc_null))));
  EXPECT_TRUE(good.receive());
  for (auto& loris : lorises) EXPECT_TRUE(loris->at_end());
  EXPECT_EQ(server.tcp_metrics.closed_stalled.value(), 100U);
  EXPECT_EQ(server.connections(), 1U);
}

TEST(TcpTest, a_peer_that_never_reads_its_replies_is_ended) {
  TcpServerOptions options;
  options.tcp.stall_limit = 300ms;
  options.tcp.sweep_interval = 50ms;
  options.tcp.send_buffer_bytes = 64 * 1024;
  TcpServer server(options);
  RawClient client(server.address, 16 * 1024);
  for (std::uint32_t xid = 0; xid < 8; ++xid)
    ASSERT_TRUE(client.send(record(test_call(xid, test::proc_bulk, words({1'000'000})))));
  EXPECT_TRUE(test::eventually([&] { return server.tcp_metrics.closed_stalled.value() == 1; }));
  EXPECT_TRUE(test::eventually([&] { return server.connections() == 0; }));
}

TEST(TcpTest, an_idle_connection_is_closed_but_not_one_with_a_running_call) {
  TcpServerOptions options;
  options.tcp.idle_limit = 200ms;
  options.tcp.sweep_interval = 50ms;
  TcpServer server(options);
  RawClient idle(server.address);
  RawClient busy(server.address);
  ASSERT_TRUE(busy.send(record(test_call(1, test::proc_wait))));
  EXPECT_TRUE(idle.at_end());
  EXPECT_EQ(server.connections(), 1U);
  server.first().call([&] { server.service.release(); });
  EXPECT_TRUE(busy.receive());
  EXPECT_TRUE(busy.at_end());
}

TEST(TcpTest, ten_thousand_idle_connections_take_little_memory) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  const std::size_t wanted = std::min<std::size_t>(10'000, (limit.rlim_cur - 200) / 2);
  TcpServerOptions options;
  options.reactors = 2;
  TcpServer server(options);
  std::vector<std::unique_ptr<RawClient>> clients;
  const Bytes call = record(test_call(1, test::proc_null));
  for (std::size_t i = 0; i < wanted; ++i) {
    const auto host = static_cast<std::uint8_t>(1 + i / 1000);
    auto& client = *clients.emplace_back(std::make_unique<RawClient>(server.address, 0, host));
    ASSERT_TRUE(client.connected()) << i;
    ASSERT_TRUE(client.send(call));
  }
  for (auto& client : clients) ASSERT_TRUE(client->receives(words({1, 1, 0, 0, 0, 0})));
  EXPECT_EQ(server.connections(), wanted);
  EXPECT_LE(server.connections_of(0), wanted / 2 + 1);
  // Nothing but the reply cursor and the receive buffer of each reactor.
  EXPECT_LE(server.pool.stats().bytes_used, 4 * io::small_slab_bytes);
}

TEST(TcpTest, at_the_limit_the_longest_idle_connection_makes_room) {
  TcpServerOptions options;
  options.connections_max = 3;
  options.listener.pause = 10ms;
  TcpServer server(options);
  std::vector<std::unique_ptr<RawClient>> clients;
  const Bytes call = record(test_call(1, test::proc_null));
  for (int i = 0; i < 3; ++i) {
    auto& client = *clients.emplace_back(std::make_unique<RawClient>(server.address));
    ASSERT_TRUE(client.send(call));
    ASSERT_TRUE(client.receive());
  }
  RawClient fourth(server.address);
  ASSERT_TRUE(fourth.send(call));
  EXPECT_TRUE(fourth.receive());
  EXPECT_TRUE(clients[0]->at_end());
  EXPECT_GE(server.tcp_metrics.closed_limit.value(), 1U);
}

TEST(TcpTest, lack_of_descriptors_pauses_accepting) {
#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
  GTEST_SKIP() << "the sanitizer needs descriptors of its own";
#endif
#endif
  TcpServerOptions options;
  options.listener.pause = 10ms;
  TcpServer server(options);
  RawClient busy(server.address);
  RawClient idle(server.address);
  ASSERT_TRUE(busy.send(record(test_call(1, test::proc_wait))));
  ASSERT_TRUE(test::eventually([&] { return server.connections() == 2; }));
  // Two more: the server is already accepting the first; for the second there is no descriptor.
  std::array<base::UniqueFd, 2> late;
  for (base::UniqueFd& socket : late)
    socket = base::UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const SocketAddress to = to_socket_address(server.address);
  for (const base::UniqueFd& socket : late) EXPECT_EQ(::connect(socket.get(), to.get(), to.length), 0);
  const bool refused = test::eventually([&] { return server.tcp_metrics.refused.value() > 2; });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(refused);
  EXPECT_TRUE(idle.at_end());  // it made room
  RawClient later(server.address);
  ASSERT_TRUE(later.send(record(test_call(5, test::proc_null))));
  EXPECT_TRUE(later.receive());
  server.first().call([&] { server.service.release(); });
  EXPECT_TRUE(busy.receive());
}

TEST(TcpTest, a_connection_with_long_replies_lets_others_have_their_turn) {
  constexpr std::uint32_t calls = 200;
  TcpServer server;
  RawClient greedy(server.address);
  RawClient modest(server.address);
  ASSERT_TRUE(test::eventually([&] { return server.connections() == 2; }));
  Bytes stream;
  for (std::uint32_t xid = 1; xid <= calls; ++xid)
    append(stream, record(test_call(xid, test::proc_bulk, words({test::TestService::bulk_bytes_max}))));
  std::jthread reader([&] {
    for (std::uint32_t i = 0; i < calls; ++i) EXPECT_TRUE(greedy.receive());
  });
  // While the reactor is busy: it finds all calls at once, those of the greedy client first.
  server.first().call([&] {
    ASSERT_TRUE(greedy.send(stream));
    ASSERT_TRUE(modest.send(record(test_call(1, test::proc_count))));
  });
  EXPECT_TRUE(modest.receive());
  EXPECT_LE(server.service.bulk_before_count, 16U);
}

// A closed socket with unread bytes would be reset, and the end of a long reply with it.
TEST(TcpTest, draining_leaves_no_reply_behind_though_calls_remain_unread) {
  TcpServerOptions options;
  options.server.connection_bytes_max = 64 * base::KiB;
  TcpServer server(options);
  RawClient client(server.address, 64 * 1024);
  Bytes stream;
  for (std::uint32_t xid = 1; xid <= 20000; ++xid)
    append(stream, record(test_call(xid, test::proc_bulk, words({test::TestService::bulk_bytes_max}))));
  std::jthread sender([&] { client.send(stream); });
  const Bytes reply = echo_reply(1, Bytes(test::TestService::bulk_bytes_max, std::byte{0x5a}));
  ASSERT_TRUE(client.receives(reply));
  std::jthread stopper([&] { EXPECT_TRUE(server.stop(test::plenty)); });
  std::size_t replies = 1;
  std::size_t cut = 0;
  for (;;) {
    Bytes mark(4);
    const ssize_t n = test::uninterrupted([&] { return ::recv(client.fd(), mark.data(), 4, MSG_WAITALL); });
    if (n == 0) break;
    ASSERT_EQ(n, 4) << errno << " after " << replies;
    Bytes body(test::u32_at(mark, 0) & 0x7fff'ffffU);
    if (test::uninterrupted([&] { return ::recv(client.fd(), body.data(), body.size(), MSG_WAITALL); }) !=
        static_cast<ssize_t>(body.size()))
      ++cut;
    ++replies;
  }
  EXPECT_EQ(cut, 0U) << replies;
}

TEST(TcpTest, draining_answers_running_calls_and_takes_no_new_ones) {
  TcpServer server;
  RawClient client(server.address);
  ASSERT_TRUE(client.send(record(test_call(1, test::proc_wait))));
  ASSERT_TRUE(
      test::eventually([&] { return server.first().call([&] { return server.service.waiting() == 1; }); }));
  std::jthread releaser([&] {
    // It takes no connections any more.
    EXPECT_TRUE(test::eventually([&] { return !RawClient(server.address).connected(); }));
    server.first().call([&] { server.service.release(); });
  });
  EXPECT_TRUE(server.stop(test::plenty));
  EXPECT_TRUE(client.receives(words({1, 1, 0, 0, 0, 0, 1})));
  EXPECT_TRUE(client.at_end());
  EXPECT_EQ(server.pool.stats().bytes_used, 0U);
}

TEST(TcpTest, draining_leaves_peers_time_to_read_the_last_replies) {
  base::ManualClock clock;
  TcpServerOptions options;
  options.clock = &clock;
  options.tcp.drain_linger = 1s;
  TcpServer server(options);
  RawClient client(server.address);
  ASSERT_TRUE(client.send(record(test_call(1, test::proc_wait))));
  ASSERT_TRUE(
      test::eventually([&] { return server.first().call([&] { return server.service.waiting() == 1; }); }));
  std::atomic<bool> stopped = false;
  std::jthread stopper([&] {
    EXPECT_TRUE(server.stop(test::plenty));
    stopped = true;
  });
  server.first().call([&] { server.service.release(); });
  EXPECT_TRUE(client.receives(words({1, 1, 0, 0, 0, 0, 1})));
  const auto advance = [&] { server.first().call([&] { clock.advance(10ms); }); };
  for (int i = 0; i < 50; ++i) advance();
  pollfd end{.fd = client.fd(), .events = POLLRDHUP, .revents = 0};
  EXPECT_EQ(::poll(&end, 1, 0), 0);
  while (!stopped) advance();
  EXPECT_TRUE(client.at_end());
}

TEST(TcpTest, draining_ends_at_its_limit) {
  TcpServer server;
  RawClient client(server.address);
  ASSERT_TRUE(client.send(record(test_call(1, test::proc_wait))));
  ASSERT_TRUE(
      test::eventually([&] { return server.first().call([&] { return server.service.waiting() == 1; }); }));
  EXPECT_FALSE(server.stop(20ms));
  EXPECT_TRUE(client.at_end());
}

TEST(TcpTest, a_peer_that_vanishes_in_the_middle_is_forgotten) {
  TcpServer server;
  {
    RawClient client(server.address);
    Bytes stream = record(test_call(1, test::proc_wait));
    append(stream, words({0x80000100, 1, 2}));
    ASSERT_TRUE(client.send(stream));
    ASSERT_TRUE(
        test::eventually([&] { return server.first().call([&] { return server.service.waiting() == 1; }); }));
  }
  EXPECT_TRUE(test::eventually([&] { return server.connections() == 0; }));
}

TEST(SocketAddressTest, addresses_have_their_usual_text) {
  EXPECT_EQ(parse_address("192.0.2.1", 700)->text(), "192.0.2.1:700");
  EXPECT_EQ(parse_address("2001:db8::1", 2049)->text(), "[2001:db8::1]:2049");
  EXPECT_FALSE(parse_address("host", 1));
  for (const char* text : {"127.0.0.1", "::1"}) {
    const PeerAddress address = parse_address(text, 1234).value();
    EXPECT_EQ(from_socket_address(to_socket_address(address).storage), address);
  }
}

}  // namespace
}  // namespace braid::rpc
