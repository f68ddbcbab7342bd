#include "server/admin/request_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <utility>

#include "base/log.h"

namespace braid::server::admin {
namespace {

constexpr std::size_t chunk_bytes = 4096;

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK; }

}  // namespace

// Lives in the frame of serve().
struct RequestServer::Connection {
  Connection(io::Reactor& reactor, int descriptor, std::string from)
      : timer(reactor), socket(descriptor), peer(std::move(from)) {}
  io::Timer timer;
  const int socket;
  const std::string peer;
  bool ended = false;  // by the time limit, for another one, or by stop()
};

RequestServer::RequestServer(io::Reactor& reactor, base::UniqueFd listener, RequestServerOptions options,
                             Dialogue dialogue)
    : reactor_(reactor), listener_(std::move(listener)), options_(options), dialogue_(std::move(dialogue)) {}

void RequestServer::start() { io::spawn(gate_, accept_all()); }

io::Op<> RequestServer::stop() {
  gate_.close();
  reactor_.cancel_fd(listener_.get());
  for (Connection* connection : connections_) end(*connection);
  co_await gate_.drained();
  listener_.reset();
}

void RequestServer::end(Connection& connection) {
  connection.ended = true;
  reactor_.cancel_fd(connection.socket);
}

io::Op<> RequestServer::accept_all() {
  constexpr base::Duration pause = std::chrono::milliseconds(100);
  while (!gate_.closed()) {
    const base::Result<int> accepted = co_await reactor_.accept(listener_.get());
    if (accepted) {
      admit(base::UniqueFd(*accepted));
    } else if (accepted.error() == base::errno_of(ECANCELED)) {
      break;
    } else if (accepted.error() == base::errno_of(EMFILE) || accepted.error() == base::errno_of(ENFILE)) {
      base::log_event(base::Level::warning, "accept_failed", "listener={} error=\"{}\"", options_.name,
                      base::message_of(accepted.error()));
      co_await reactor_.sleep(pause);
    }
  }
}

void RequestServer::admit(base::UniqueFd socket) {
  if (gate_.closed()) return;
  std::string peer = options_.peer != nullptr ? options_.peer(socket.get()) : std::string();
  const auto there = std::ranges::count(connections_, false, &Connection::ended);
  if (there < options_.connections_max || make_room(peer))
    io::spawn(gate_, serve(std::move(socket), std::move(peer)));
}

bool RequestServer::make_room(const std::string& newcomer) {
  if (options_.peer == nullptr) return false;
  std::map<std::string_view, unsigned> of_peer;
  for (const Connection* connection : connections_)
    if (!connection->ended) ++of_peer[connection->peer];
  const auto most = std::ranges::max_element(
      of_peer, {}, [&](const auto& each) { return std::pair(each.second, each.first == newcomer); });
  const auto oldest = std::ranges::find_if(connections_, [&](const Connection* connection) {
    return !connection->ended && connection->peer == most->first;
  });
  end(**oldest);
  return true;
}

io::Op<> RequestServer::serve(base::UniqueFd socket, std::string peer) {
  Connection connection(reactor_, socket.get(), std::move(peer));
  connections_.push_back(&connection);
  io::Gate watchers;
  io::spawn(watchers, expire(connection));
  (void)co_await converse(connection).as_result();
  connection.timer.cancel();
  co_await watchers.drained();
  connections_.remove(&connection);
}

io::Op<> RequestServer::expire(Connection& connection) {
  // The wait stands outside of the condition: g++ 12 drops the body of a coroutine with `if (co_await
  // temporary)`.
  const bool late = co_await connection.timer.until(reactor_.clock().now() + options_.time_limit);
  if (late) end(connection);
}

io::Op<> RequestServer::wait_for(const Connection& connection, short events) {
  // end() reaches only a wait that has begun.
  if (connection.ended) co_await base::fail(ETIMEDOUT);
  co_await co_await reactor_.poll(connection.socket, events);
}

io::Op<> RequestServer::converse(const Connection& connection) {
  std::string request;
  std::array<char, chunk_bytes> chunk;
  bool ended = false;
  while (!ended && request.size() <= options_.request_bytes_max && !dialogue_.complete(request)) {
    const ssize_t got = ::recv(connection.socket, chunk.data(), chunk.size(), 0);
    if (got < 0 && !would_block()) co_await base::fail(errno);
    if (got < 0) {
      co_await wait_for(connection, POLLIN);
      continue;
    }
    ended = got == 0;
    request.append(chunk.data(), static_cast<std::size_t>(got));
  }
  if (request.empty()) co_return;
  const std::string answer = co_await dialogue_.answer(request);
  for (std::size_t sent = 0; sent < answer.size();) {
    const ssize_t put = ::send(connection.socket, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
    if (put < 0 && !would_block()) co_await base::fail(errno);
    if (put < 0)
      co_await wait_for(connection, POLLOUT);
    else
      sent += static_cast<std::size_t>(put);
  }
  // Closing a socket with unread input resets the connection, and the peer could lose the answer.
  ::shutdown(connection.socket, SHUT_WR);
  while (!ended) {
    const ssize_t got = ::recv(connection.socket, chunk.data(), chunk.size(), 0);
    if (got < 0 && !would_block()) co_return;
    if (got < 0) co_await wait_for(connection, POLLIN);
    ended = got == 0;
  }
}

}  // namespace braid::server::admin
