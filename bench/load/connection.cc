#include "bench/load/connection.h"

#include "rpc/tcp_connect.h"

namespace braid::load {

LoadOp<> Connection::open(const rpc::PeerAddress& server) {
  auto socket = co_await rpc::tcp_connect(reactor_, server).as_result();
  if (!socket) co_return co_await base::fail(Fault{"no connection"});
  client_.attach(tcp_.open(std::move(*socket), client_));
}

}  // namespace braid::load
