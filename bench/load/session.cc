#include "bench/load/session.h"

#include <variant>

#include "rpc/tcp_connect.h"

namespace braid::load {

LoadOp<> Session::open(const rpc::PeerAddress& server) {
  auto socket = co_await rpc::tcp_connect(reactor_, server).as_result();
  if (!socket) co_return co_await base::fail(Fault{"no connection"});
  client_.attach(tcp_.open(std::move(*socket), client_));
}

LoadOp<Done> Session::call_null() {
  auto results =
      co_await client_.call({nfs3::NFS_PROGRAM, nfs3::NFS_V3, 0}, {.auth = caller_}, [](xdr::Encoder&) {})
          .as_result();
  if (!results) co_return base::fail(Fault{name_of(results.error())});
  co_return Done{};
}

}  // namespace braid::load
