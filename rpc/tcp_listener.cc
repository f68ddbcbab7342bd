#include "rpc/tcp_listener.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "base/log.h"
#include "rpc/socket_address.h"

namespace braid::rpc {
namespace {

constexpr int backlog = 4096;
// While as many connections as may be at once are closed for others.
constexpr auto replace_wait = std::chrono::milliseconds(1);

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

// The kernel ends the rings of a process that was killed, and with them its sockets, after the process is
// gone: a server that takes its place has to wait for that. On a busy machine it takes some seconds.
base::Result<base::UniqueFd> listen_on(const PeerAddress& address) {
  constexpr int attempts = 100, told_at = 10;
  constexpr auto pause = std::chrono::milliseconds(100);
  auto socket = try_listen(address);
  for (int i = 1; i < attempts && !socket && socket.error() == base::errno_of(EADDRINUSE); ++i) {
    if (i == told_at)
      base::log_event(base::Level::info, "port_in_use",
                      "port={}: perhaps by a server that was killed; it is waited for, for at most {} s",
                      address.port,
                      std::chrono::duration_cast<std::chrono::seconds>(attempts * pause).count());
    std::this_thread::sleep_for(pause);
    socket = try_listen(address);
  }
  return socket;
}

TcpListener::TcpListener(io::Reactor& reactor, std::vector<Target> targets, ConnectionLimit& limit,
                         const TcpListenerOptions& options, TcpMetrics& metrics)
    : reactor_(reactor), targets_(std::move(targets)), limit_(limit), options_(options), metrics_(metrics) {}

void TcpListener::accept_on(base::UniqueFd socket) {
  sockets_.push_back(socket.get());
  io::spawn(gate_, accept_loop(std::move(socket)));
}

io::Op<> TcpListener::accept_loop(base::UniqueFd socket) {
  while (!gate_.closed()) {
    const auto accepted = co_await reactor_.accept(socket.get());
    if (accepted) {
      co_await admit(base::UniqueFd(*accepted));
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

// Nobody is left in the backlog for lack of room: whose connection it is shows only here.
io::Op<> TcpListener::admit(base::UniqueFd socket) {
  using enum ConnectionLimit::Decision::Verdict;
  const auto peer = peer_of(socket.get());
  if (!peer) co_return;  // gone already
  const bool known = targets_.front().acceptor->knows(*peer);
  while (!gate_.closed()) {
    const ConnectionLimit::Decision decision = limit_.decide(*peer, known);
    switch (decision.verdict) {
      case take:
        hand_out(std::move(socket), *peer, known);
        co_return;
      case replace:
        hand_out_instead(std::move(socket), *peer, known, decision.victim);
        co_return;
      case refuse:
        limit_.note_refused();
        co_return;
      case wait:
        co_await reactor_.sleep(replace_wait);
        break;
    }
  }
}

void TcpListener::hand_out(base::UniqueFd socket, const PeerAddress& peer, bool known) {
  const Target* best = nullptr;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const Target& target = targets_[(turn_ + i) % targets_.size()];
    if (best == nullptr || target.worker->connections() < best->worker->connections()) best = &target;
  }
  ++turn_;
  best->worker->adopt(std::move(socket), peer, *best->acceptor, limit_.enter(peer, known, Transport::tcp));
}

void TcpListener::hand_out_instead(base::UniqueFd socket, const PeerAddress& peer, bool known,
                                   const ConnectionLimit::Victim& victim) {
  auto place = limit_.enter(peer, known, Transport::tcp);
  limit_.replace(victim, [this, peer, place = std::move(place),
                          shared = std::make_shared<base::UniqueFd>(std::move(socket))](TcpWorker* where) {
    if (where == nullptr) {
      shared->reset();
      return limit_.note_refused();
    }
    where->adopt(std::move(*shared), peer, *std::ranges::find(targets_, where, &Target::worker)->acceptor,
                 place);
  });
}

io::Op<> TcpListener::make_room(int socket) {
  (void)co_await reactor_.readable(socket);
  if (gate_.closed()) co_return;
  limit_.make_room();
  co_await reactor_.sleep(options_.pause);
}

io::Op<> TcpListener::stop() {
  gate_.close();
  for (const int socket : sockets_) reactor_.cancel_fd(socket);
  co_await gate_.drained();
  while (limit_.replacing() > 0) co_await reactor_.sleep(replace_wait);
}

}  // namespace braid::rpc
