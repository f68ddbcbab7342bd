#include "server/admin/request_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/manual/manual_clock.h"
#include "rpc/socket_address.h"
#include "rpc/tcp_listener.h"
#include "server/admin/admin_command.h"
#include "server/metrics/http.h"

namespace braid::server::admin {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// A request server on a loopback port, with its reactor on a thread of its own. Time passes by pass() alone.
class RequestServerTest : public testing::Test {
 protected:
  static constexpr unsigned connections_max = 4;
  static constexpr base::Duration limit = std::chrono::seconds(30);

  void start(base::Duration time_limit, Dialogue dialogue, std::string (*peer)(int socket) = nullptr) {
    auto reactor = io::Reactor::create({.ring_entries = 64}, clock_);
    ASSERT_TRUE(reactor.has_value());
    reactor_ = std::move(*reactor);
    auto listener = rpc::listen_on(*rpc::parse_address("127.0.0.1", 0));
    ASSERT_TRUE(listener.has_value());
    address_ = *rpc::local_of(listener->get());
    server_ = std::make_unique<RequestServer>(*reactor_, std::move(*listener),
                                              RequestServerOptions{.name = "test",
                                                                   .request_bytes_max = 8192,
                                                                   .connections_max = connections_max,
                                                                   .peer = peer,
                                                                   .time_limit = time_limit},
                                              std::move(dialogue));
    reactor_->post([this] { server_->start(); });
    thread_ = std::thread([this] { reactor_->run(); });
  }

  void start_http(std::string (*peer)(int socket) = nullptr) {
    start(limit,
          {metrics::http_complete,
           [](std::string_view request) {
             return metrics::http_answer(request, [](std::string_view) {
               return metrics::HttpPage{.body = std::string(1 << 20, 'x'), .status = 200};
             });
           }},
          peer);
  }

  void stop() {
    if (!thread_.joinable()) return;
    reactor_->post([this] { io::spawn(gate_, stop_all()); });
    thread_.join();
  }
  io::Op<> stop_all() {
    co_await server_->stop();
    reactor_->stop();
  }
  void TearDown() override { stop(); }

  // From 127.0.0.`host`.
  [[nodiscard]] base::UniqueFd connect(std::uint32_t host = 1) const {
    base::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in from{.sin_family = AF_INET,
                           .sin_port = 0,
                           .sin_addr = {htonl(INADDR_LOOPBACK - 1 + host)},
                           .sin_zero = {}};
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from), 0);
    const rpc::SocketAddress to = rpc::to_socket_address(address_);
    EXPECT_EQ(::connect(socket.get(), to.get(), to.length), 0);
    return socket;
  }
  static void put(const base::UniqueFd& socket, std::string_view text) {
    EXPECT_EQ(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  static std::string all(const base::UniqueFd& socket) {
    std::string out;
    char chunk[4096];
    for (ssize_t got; (got = ::recv(socket.get(), chunk, sizeof chunk, 0)) > 0;)
      out.append(chunk, static_cast<std::size_t>(got));
    return out;
  }

  void pass(base::Duration time) {
    std::promise<void> done;
    reactor_->post([&] {
      clock_.advance(time);
      done.set_value();
    });
    done.get_future().wait();
  }
  // Lets time pass until the peer has said something, or ended.
  std::string all_as_time_passes(const base::UniqueFd& socket) {
    pollfd heard{.fd = socket.get(), .events = POLLIN, .revents = 0};
    while (::poll(&heard, 1, 1) == 0) pass(limit / 10);
    return all(socket);
  }

  base::ManualClock clock_;  // of the reactor's thread
  std::unique_ptr<io::Reactor> reactor_;
  rpc::PeerAddress address_;
  std::unique_ptr<RequestServer> server_;
  io::Gate gate_;
  std::thread thread_;
};

TEST_F(RequestServerTest, a_request_in_pieces_gets_its_whole_answer) {
  start_http();
  const base::UniqueFd socket = connect();
  put(socket, "GET / HT");
  put(socket, "TP/1.1\r\nHost: x\r\n");
  put(socket, "\r\n");
  const std::string answer = all(socket);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_GT(answer.size(), std::size_t{1} << 20);
}

TEST_F(RequestServerTest, an_oversized_request_is_answered_and_not_kept) {
  start_http();
  const base::UniqueFd socket = connect();
  put(socket, "GET / HTTP/1.1\r\nX: " + std::string(200'000, 'a'));
  EXPECT_THAT(all(socket), StartsWith("HTTP/1.1 431 "));
}

TEST_F(RequestServerTest, a_stream_that_ends_early_gets_an_answer) {
  start_http();
  const base::UniqueFd socket = connect();
  put(socket, "GET / HTTP/1.1\r\n");
  ::shutdown(socket.get(), SHUT_WR);
  EXPECT_THAT(all(socket), StartsWith("HTTP/1.1 400 "));
}

TEST_F(RequestServerTest, a_peer_that_says_nothing_is_closed_at_the_time_limit) {
  start_http();
  const base::UniqueFd silent = connect(), slow = connect();
  put(slow, "GET / H");
  EXPECT_THAT(all_as_time_passes(silent), IsEmpty());
  EXPECT_THAT(all_as_time_passes(slow), IsEmpty());
}

TEST_F(RequestServerTest, a_peer_that_does_not_read_is_closed_at_the_time_limit) {
  // More than the sockets of both sides take.
  static constexpr std::size_t answer_bytes = 64 * base::MiB;
  start(limit, {metrics::http_complete, [](std::string_view) { return std::string(answer_bytes, 'x'); }});
  const base::UniqueFd socket = connect();
  put(socket, "GET / HTTP/1.1\r\n\r\n");
  pollfd begun{.fd = socket.get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&begun, 1, -1), 1);
  pass(2 * limit);
  pass({});  // what was due has run
  EXPECT_LT(all(socket).size(), answer_bytes);
}

TEST_F(RequestServerTest, connections_above_the_limit_are_closed_and_the_others_served) {
  start_http();
  std::vector<base::UniqueFd> held;
  for (unsigned i = 0; i < connections_max; ++i) held.push_back(connect());
  const base::UniqueFd further = connect();
  EXPECT_THAT(all(further), IsEmpty());
  put(held.front(), "GET / HTTP/1.1\r\n\r\n");
  EXPECT_THAT(all(held.front()), StartsWith("HTTP/1.1 200 "));
}

std::string host_at(int socket) { return rpc::peer_of(socket).value().host(); }

TEST_F(RequestServerTest, who_has_the_most_connections_makes_room) {
  start_http(host_at);
  const base::UniqueFd patient = connect(2);
  std::vector<base::UniqueFd> crowd;
  for (unsigned i = 0; i < 2 * connections_max; ++i) crowd.push_back(connect(3));
  // One of its own, the oldest; and then one for somebody else.
  for (unsigned i = 0; i <= connections_max; ++i) EXPECT_THAT(all(crowd[i]), IsEmpty()) << i;
  const base::UniqueFd late = connect(4);
  put(late, "GET / HTTP/1.1\r\n\r\n");
  EXPECT_THAT(all(late), StartsWith("HTTP/1.1 200 "));
  put(patient, "GET / HTTP/1.1\r\n\r\n");
  EXPECT_THAT(all(patient), StartsWith("HTTP/1.1 200 "));
}

TEST_F(RequestServerTest, who_does_not_read_makes_room_too) {
  start_http(host_at);
  std::vector<base::UniqueFd> crowd;
  for (unsigned i = 0; i < connections_max; ++i) {
    crowd.push_back(connect(3));
    put(crowd.back(), "GET / HTTP/1.1\r\n\r\n");
    pollfd begun{.fd = crowd.back().get(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&begun, 1, -1), 1);
  }
  const base::UniqueFd late = connect(4);
  put(late, "GET / HTTP/1.1\r\n\r\n");
  EXPECT_THAT(all(late), StartsWith("HTTP/1.1 200 "));
}

TEST_F(RequestServerTest, stopping_ends_connections_that_wait) {
  start_http();
  const base::UniqueFd socket = connect();
  put(socket, "GET / H");
  stop();
  EXPECT_THAT(all(socket), IsEmpty());
}

io::Op<std::string> answer_later() {
  co_await io::Reactor::current()->yield();
  co_return R"({"up":true})";
}

TEST_F(RequestServerTest, the_admin_dialogue_answers_one_line_when_it_can) {
  const std::vector<AdminCommand> commands{
      {{"status", ""}, [](const AdminRequest&) { return answer_later(); }}};
  start(limit,
        {admin_complete, [&commands](std::string_view request) { return admin_answer(request, commands); }});
  const base::UniqueFd socket = connect();
  put(socket, "{\"command\":\"status\"}\nand more");
  EXPECT_EQ(all(socket), "{\"up\":true}\n");
  stop();  // before the commands go
}

}  // namespace
}  // namespace braid::server::admin
