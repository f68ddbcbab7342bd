#include "rpc/tcp_connect.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

#include "rpc/socket_address.h"

namespace braid::rpc {
namespace {

constexpr std::uint16_t reserved_port_min = 665;
constexpr std::uint16_t reserved_port_max = 1023;

base::Result<void> bind_reserved(int fd, const PeerAddress& address) {
  PeerAddress local = parse_address(is_ipv4(address) ? "0.0.0.0" : "::", 0).value();
  for (local.port = reserved_port_max; local.port >= reserved_port_min; --local.port) {
    const SocketAddress at = to_socket_address(local);
    if (::bind(fd, at.get(), at.length) == 0) return {};
    if (errno != EADDRINUSE) break;
  }
  return base::fail(base::last_errno());
}

}  // namespace

io::Op<base::UniqueFd> tcp_connect(io::Reactor& reactor, PeerAddress address, TcpConnectOptions options) {
  const SocketAddress to = to_socket_address(address);
  base::UniqueFd socket(::socket(to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) co_return base::fail(base::last_errno());
  if (options.reserved_port) co_await bind_reserved(socket.get(), address);
  if (options.syn_retries > 0)
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_SYNCNT, &options.syn_retries, sizeof options.syn_retries);
  if (::connect(socket.get(), to.get(), to.length) == 0) co_return std::move(socket);
  if (errno != EINPROGRESS && errno != EINTR) co_return base::fail(base::last_errno());
  co_await co_await reactor.writable(socket.get());
  int error = 0;
  socklen_t length = sizeof error;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0)
    co_return base::fail(base::last_errno());
  if (error != 0) co_return base::fail(error);
  co_return std::move(socket);
}

}  // namespace braid::rpc
