// Connections of several acceptors on one TCP worker.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <vector>

#include "tests/unit/rpc/tcp_fixture.h"

namespace braid::rpc {
namespace {

// Hands on to another one, and says of memory what it is told to say.
class SayingAcceptor final : public Acceptor {
 public:
  SayingAcceptor(Acceptor& inner, bool is_short) : inner_(inner), short_(is_short) {}
  Receiver& on_connected(Connection& connection) override { return inner_.on_connected(connection); }
  [[nodiscard]] bool knows(const PeerAddress& peer) const override { return inner_.knows(peer); }
  [[nodiscard]] bool short_of_memory() const override { return short_; }

 private:
  Acceptor& inner_;
  const bool short_;
};

TEST(TcpAcceptors, where_one_acceptor_is_short_of_memory_only_its_peers_have_less_time) {
  const base::SystemClock clock;
  base::MetricRegistry registry;
  io::SlabPool pool({.bytes_max = 16 * base::MiB, .huge_pages = false});
  test::TestService service;
  const std::vector<Program> programs{test::test_program(service)};
  Server server({}, programs, registry, base::SipKey{1, 2});
  TcpMetrics metrics(registry);
  test::ReactorThread thread(clock);
  std::optional<ServerWorker> worker;
  std::optional<TcpWorker> tcp;
  const TcpOptions options{.stall_limit_short = std::chrono::milliseconds(100),
                           .sweep_interval = std::chrono::milliseconds(20)};
  thread.call([&] {
    worker.emplace(server, thread.reactor(), pool);
    tcp.emplace(thread.reactor(), pool, nullptr, options, metrics);
  });
  SayingAcceptor pressed(*worker, true), calm(*worker, false);
  const base::UniqueFd listener = listen_on(parse_address("127.0.0.1", 0).value()).value();
  const auto connect_to = [&](SayingAcceptor& acceptor) {
    auto client = std::make_unique<test::RawClient>(local_of(listener.get()).value());
    tcp->adopt(base::UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)), {}, acceptor,
               nullptr);
    return client;
  };
  const auto of_pressed = connect_to(pressed), of_calm = connect_to(calm);
  const base::Bytes call =
      test::record(test::test_call(1, test::proc_echo, test::opaque_of(test::pattern(300))));
  for (const auto& client : {of_pressed.get(), of_calm.get()})
    ASSERT_TRUE(client->send(base::BytesView(call).first(100)));
  EXPECT_TRUE(of_pressed->at_end());
  EXPECT_EQ(metrics.closed_stalled.value(), 1U);
  ASSERT_TRUE(of_calm->send(base::BytesView(call).subspan(100)));
  base::Bytes reply = test::words({1, 1, 0, 0, 0, 0});
  test::append(reply, test::opaque_of(test::pattern(300)));
  EXPECT_TRUE(of_calm->receives(reply));
  thread.await([&] { return tcp->close(); });
  thread.call([&] {
    tcp.reset();
    worker.reset();
  });
}

}  // namespace
}  // namespace braid::rpc
