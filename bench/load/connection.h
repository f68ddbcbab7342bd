// One connection to a server, as one user.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "bench/load/outcome.h"
#include "io/reactor.h"
#include "io/slab.h"
#include "rpc/client.h"
#include "rpc/tcp_worker.h"

namespace braid::load {

// Belongs to the reactor's thread. After open() it must be closed before it is destroyed.
class Connection {
 public:
  Connection(io::Reactor& reactor, io::SlabPool& pool, rpc::TcpWorker& tcp, const rpc::AuthSys& caller,
             std::uint32_t first_xid)
      : reactor_(reactor), pool_(pool), tcp_(tcp), caller_(caller), client_(reactor, pool, first_xid) {}

  LoadOp<> open(const rpc::PeerAddress& server);
  io::Op<> close() { return client_.close(); }
  [[nodiscard]] bool connected() const { return client_.connected(); }
  [[nodiscard]] io::Reactor& reactor() const { return reactor_; }
  [[nodiscard]] io::SlabPool& pool() const { return pool_; }

  // Calls a procedure, whose arguments `encode(xdr::Encoder&)` writes; `look(xdr::Decoder&)` turns the
  // results into a Result<T, Fault> while what they refer to is still there.
  template <class T, class Encode, class Look>
  LoadOp<T> call(rpc::ProcedureId id, Encode encode, Look look) {
    auto results = co_await client_.call(id, {.auth = caller_}, std::move(encode)).as_result();
    if (!results) co_return base::fail(Fault{name_of(results.error())});
    co_return co_await look_at<T>(*results, look);
  }
  // A procedure that has neither arguments nor results.
  LoadOp<Done> call_null(rpc::ProcedureId id) {
    return call<Done>(
        id, [](xdr::Encoder&) {}, [](xdr::Decoder&) -> base::Result<Done, Fault> { return Done{}; });
  }

 private:
  // No coroutine, so that the arena is on the stack and not in every frame.
  template <class T, class Look>
  static base::Result<T, Fault> look_at(const rpc::Results& results, Look& look) {
    xdr::Arena arena;
    xdr::Decoder in = results.decoder(arena);
    return look(in);
  }

  io::Reactor& reactor_;
  io::SlabPool& pool_;
  rpc::TcpWorker& tcp_;
  const rpc::AuthSys caller_;
  rpc::Client client_;
};

}  // namespace braid::load
