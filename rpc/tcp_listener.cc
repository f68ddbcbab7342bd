#include "rpc/tcp_listener.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "base/log.h"
#include "rpc/socket_address.h"

namespace braid::rpc {
namespace {

constexpr int backlog = 4096;

// accept(2): what lack of descriptors or memory looks like.
bool out_of_resources(base::Errno error) {
  switch (base::number_of(error)) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      return true;
    default:
      return false;
  }
}

// The listening socket itself is gone.
bool fatal(base::Errno error) {
  switch (base::number_of(error)) {
    case ECANCELED:
    case EBADF:
    case EINVAL:
    case ENOTSOCK:
      return true;
    default:
      return false;
  }
}

base::Result<base::UniqueFd> try_listen(const PeerAddress& address) {
  const SocketAddress at = to_socket_address(address);
  // Blocking on purpose: io_uring then waits for connections instead of answering EAGAIN.
  base::UniqueFd socket(::socket(at.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return base::fail(base::last_errno());
  const int on = 1;
  const int v6_only = address.bytes != PeerAddress{}.bytes ? 1 : 0;
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      (at.family() == AF_INET6 &&
       ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof v6_only) != 0) ||
      ::bind(socket.get(), at.get(), at.length) != 0 || ::listen(socket.get(), backlog) != 0)
    return base::fail(base::last_errno());
  return socket;
}

}  // namespace

// The kernel ends the rings of a process that was killed, and with them its sockets, a moment after the
// process is gone: a server that takes its place has to wait for that.
base::Result<base::UniqueFd> listen_on(const PeerAddress& address) {
  constexpr int attempts = 20;
  constexpr auto pause = std::chrono::milliseconds(100);
  auto socket = try_listen(address);
  for (int i = 1; i < attempts && !socket && socket.error() == base::errno_of(EADDRINUSE); ++i) {
    std::this_thread::sleep_for(pause);
    socket = try_listen(address);
  }
  return socket;
}

TcpListener::TcpListener(io::Reactor& reactor, std::vector<Target> targets, const TcpListenerOptions& options,
                         TcpMetrics& metrics)
    : reactor_(reactor), targets_(std::move(targets)), options_(options), metrics_(metrics) {}

void TcpListener::accept_on(base::UniqueFd socket) {
  sockets_.push_back(socket.get());
  io::spawn(gate_, accept_loop(std::move(socket)));
}

io::Op<> TcpListener::accept_loop(base::UniqueFd socket) {
  while (!gate_.closed()) {
    if (connections() >= options_.connections_max) {
      co_await make_room(socket.get());
      continue;
    }
    const auto accepted = co_await reactor_.accept(socket.get());
    if (accepted) {
      hand_out(base::UniqueFd(*accepted));
    } else if (fatal(accepted.error())) {
      break;
    } else if (out_of_resources(accepted.error())) {
      metrics_.refused.add();
      base::log_event(base::Level::warning, "accept_failed", "error=\"{}\"",
                      base::message_of(accepted.error()));
      co_await make_room(socket.get());
    }
    // Everything else concerns one connection that is gone already (accept(2), "Error handling").
  }
  std::erase(sockets_, socket.get());
}

void TcpListener::hand_out(base::UniqueFd socket) {
  const Target* best = nullptr;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const Target& target = targets_[(turn_ + i) % targets_.size()];
    if (best == nullptr || target.worker->connections() < best->worker->connections()) best = &target;
  }
  ++turn_;
  best->worker->adopt(std::move(socket), *best->acceptor);
}

std::size_t TcpListener::connections() const {
  std::size_t sum = 0;
  for (const Target& target : targets_) sum += target.worker->connections();
  return sum;
}

io::Op<> TcpListener::make_room(int socket) {
  (void)co_await reactor_.readable(socket);
  if (gate_.closed()) co_return;
  const auto busiest = std::ranges::max_element(
      targets_, {}, [](const Target& target) { return target.worker->connections(); });
  busiest->worker->evict_idle();
  co_await reactor_.sleep(options_.pause);
}

io::Op<> TcpListener::stop() {
  gate_.close();
  for (const int socket : sockets_) reactor_.cancel_fd(socket);
  co_await gate_.drained();
}

}  // namespace braid::rpc
