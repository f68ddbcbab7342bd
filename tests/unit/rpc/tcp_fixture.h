// A server on a real socket with a reactor thread of its own, and blocking clients that send whatever they
// like.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "base/unique_fd.h"
#include "io/slab.h"
#include "rpc/connection_limit.h"
#include "rpc/server.h"
#include "rpc/socket_address.h"
#include "rpc/tcp_connect.h"
#include "rpc/tcp_listener.h"
#include "rpc/tcp_worker.h"
#include "tests/unit/rpc/bytes.h"
#include "tests/unit/rpc/loop.h"
#include "tests/unit/rpc/test_program.h"

namespace braid::rpc::test {

// Nothing takes so long; ctest's own limit is longer.
constexpr std::chrono::seconds plenty{60};

struct TcpServerOptions {
  ServerOptions server;
  TcpOptions tcp{.drain_linger = {}};
  TcpListenerOptions listener;
  std::size_t connections_max = 16384;
  io::SlabPoolOptions pool{.bytes_max = 128 * base::MiB, .huge_pages = false};
  unsigned reactors = 1;
  const base::Clock* clock = nullptr;  // the system's; another one needs a single reactor
};

class TcpServer {
 public:
  // `more`: programs besides the test program.
  explicit TcpServer(const TcpServerOptions& options = {}, std::span<const Program> more = {})
      : pool(options.pool),
        programs_(with_test_program(more)),
        server(options.server, programs_, registry, base::SipKey{1, 2}),
        tcp_metrics(registry) {
    std::vector<TcpListener::Target> targets;
    std::vector<TcpWorker*> workers;
    for (unsigned i = 0; i < options.reactors; ++i) {
      ServerThread& one =
          *threads_.emplace_back(std::make_unique<ServerThread>(options.clock ? *options.clock : clock));
      one.thread.call([&] {
        one.worker.emplace(server, one.thread.reactor(), pool);
        one.tcp.emplace(one.thread.reactor(), pool, &pipes, options.tcp, tcp_metrics);
      });
      targets.push_back({&*one.tcp, &*one.worker});
      workers.push_back(&*one.tcp);
    }
    limit_.emplace(options.connections_max, workers, [this] { return connections(); }, clock, registry);
    base::UniqueFd socket = listen_on(parse_address("127.0.0.1", 0).value()).value();
    address = local_of(socket.get()).value();
    first().call([&] {
      listener_.emplace(first().reactor(), targets, *limit_, options.listener, tcp_metrics);
      listener_->accept_on(std::move(socket));
    });
  }
  ~TcpServer() { stop(plenty); }
  TcpServer(const TcpServer&) = delete;
  TcpServer& operator=(const TcpServer&) = delete;

  // As a server ends: no more connections, calls are finished, everything is closed. True if all calls ended
  // in time.
  bool stop(base::Duration limit) {
    if (stopped_) return true;
    stopped_ = true;
    bool drained = true;
    first().await([&] { return listener_->stop(); });
    for (auto& one : threads_) {
      one->thread.await([&]() -> io::Op<> {
        const bool in_time = co_await one->tcp->drain(limit);
        drained = drained && in_time;
        co_await one->tcp->close();
      });
    }
    first().call([&] {
      listener_.reset();
      service.release();
    });
    // Calls that were released only now still have to end.
    for (auto& one : threads_) {
      one->thread.await([&]() -> io::Op<> {
        while (one->worker->sessions() > 0)
          co_await one->thread.reactor().sleep(std::chrono::milliseconds(1));
        one->tcp.reset();
        one->worker.reset();
      });
    }
    return drained;
  }
  [[nodiscard]] ReactorThread& first() { return threads_.front()->thread; }
  [[nodiscard]] std::size_t connections() {
    std::size_t sum = 0;
    for (auto& one : threads_) sum += one->tcp->connections();
    return sum;
  }
  // A connection of the server's own to somebody.
  void connect_to(const PeerAddress& to, Receiver& receiver) {
    first().await([&]() -> io::Op<> {
      auto socket = co_await tcp_connect(first().reactor(), to).as_result();
      EXPECT_TRUE(socket);
      if (socket) threads_.front()->tcp->open(std::move(*socket), receiver);
    });
  }
  [[nodiscard]] std::size_t connections_of(std::size_t index) { return threads_[index]->tcp->connections(); }

  base::SystemClock clock;
  base::MetricRegistry registry;
  io::SlabPool pool;
  io::PipePool pipes;
  TestService service;

 private:
  std::vector<Program> programs_;

 public:
  Server server;
  TcpMetrics tcp_metrics;
  PeerAddress address;

 private:
  std::vector<Program> with_test_program(std::span<const Program> more) {
    std::vector<Program> all(more.begin(), more.end());
    all.push_back(test_program(service));
    return all;
  }

  struct ServerThread {
    explicit ServerThread(const base::Clock& clock_of_all) : thread(clock_of_all) {}
    std::optional<ServerWorker> worker;
    std::optional<TcpWorker> tcp;
    ReactorThread thread;  // ends first
  };
  bool stopped_ = false;
  std::optional<ConnectionLimit> limit_;
  std::vector<std::unique_ptr<ServerThread>>
      threads_;  // the threads run until the end, so that others may still post to them
  std::optional<TcpListener> listener_;
};

// The result of a system call that is repeated when a signal, or work of a closed ring, interrupts it.
template <class F>
ssize_t uninterrupted(F call) {
  ssize_t n;
  do {
    n = call();
  } while (n < 0 && errno == EINTR);
  return n;
}

// Gives up when there is silence for `plenty`.
class RawClient {
 public:
  // From 127.0.0.`host`: each address has ports of its own, for thousands of connections.
  explicit RawClient(const PeerAddress& address, int receive_buffer = 0, std::uint8_t host = 1)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer > 0)
      ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    const timeval limit{.tv_sec = plenty.count(), .tv_usec = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    const int on = 1;
    ::setsockopt(socket_.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    const sockaddr_in from{.sin_family = AF_INET,
                           .sin_port = 0,
                           .sin_addr = {htonl(INADDR_LOOPBACK - 1 + host)},
                           .sin_zero = {}};
    const SocketAddress to = to_socket_address(address);
    connected_ =
        ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0 && connects(to);
  }
  [[nodiscard]] bool connected() const { return connected_; }
  [[nodiscard]] int fd() const { return socket_.get(); }
  // False when the connection does not take all.
  bool send(base::BytesView bytes) {
    while (!bytes.empty()) {
      const ssize_t n =
          uninterrupted([&] { return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL); });
      if (n <= 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return true;
  }
  // The next record, or nothing when the connection has ended.
  std::optional<base::Bytes> receive() {
    base::Bytes mark(4);
    if (!receive_all(mark)) return std::nullopt;
    const std::uint32_t word = u32_at(mark, 0);
    EXPECT_NE(word & 0x8000'0000U, 0U);
    base::Bytes body(word & 0x7fff'ffffU);
    if (!receive_all(body)) return std::nullopt;
    return body;
  }
  // True when the next record is this one; long ones are better not printed.
  bool receives(const base::Bytes& expected) { return receive() == expected; }
  // True when the server has ended the connection.
  bool at_end() {
    std::byte byte;
    const ssize_t n = uninterrupted([&] { return ::recv(socket_.get(), &byte, 1, 0); });
    return n == 0 || (n < 0 && errno != EAGAIN);
  }

 private:
  // A connect(2) that was interrupted goes on by itself.
  bool connects(const SocketAddress& to) {
    if (::connect(socket_.get(), to.get(), to.length) == 0) return true;
    if (errno != EINTR) return false;
    pollfd wait{socket_.get(), POLLOUT, 0};
    constexpr int limit_ms = std::chrono::milliseconds(plenty).count();
    if (uninterrupted([&] { return ::poll(&wait, 1, limit_ms); }) != 1) return false;
    int error = 0;
    socklen_t size = sizeof error;
    return ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
  }
  bool receive_all(base::MutableBytes to) {
    while (!to.empty()) {
      const ssize_t n = uninterrupted([&] { return ::recv(socket_.get(), to.data(), to.size(), 0); });
      if (n <= 0) return false;
      to = to.subspan(static_cast<std::size_t>(n));
    }
    return true;
  }

  base::UniqueFd socket_;
  bool connected_ = false;
};

// Waits until `holds` does; false after `plenty`.
template <class F>
bool eventually(F holds) {
  const auto until = std::chrono::steady_clock::now() + plenty;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

inline base::Bytes test_call(std::uint32_t xid, std::uint32_t procedure, base::BytesView args = {}) {
  return call_of(xid, program_number, version_low, procedure, args);
}
// ECHO's arguments, and its results behind the reply's header.
// Bytes that tell their place.
inline base::Bytes pattern(std::size_t size) {
  base::Bytes out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>(i * 31 + i / 251);
  return out;
}
inline base::Bytes opaque_of(base::BytesView bytes) {
  base::Bytes out = words({static_cast<std::uint32_t>(bytes.size())});
  append(out, bytes);
  out.resize((out.size() + 3) / 4 * 4);
  return out;
}

}  // namespace braid::rpc::test
