// One connection to a server, as one user.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "io/op.h"
#include "io/reactor.h"
#include "io/slab.h"
#include "nfs3/nfs3.x.h"
#include "rpc/client.h"
#include "rpc/tcp_worker.h"

namespace braid::load {

// Why a call failed: the name of an NFS, MOUNT or RPC status, or what else was wrong. Static text.
struct Fault {
  std::string_view status;
};

// RFC 1813 2.6, NFS3ERR_JUKEBOX: the server asks to be called again later.
inline bool wants_later(const Fault& fault) {
  return fault.status == nfs3::name_of(nfs3::nfsstat3::NFS3ERR_JUKEBOX);
}
constexpr auto later = std::chrono::milliseconds(20);
constexpr unsigned repeats_max = 1000;  // of one call; then its Fault stands

template <class T = void>
using LoadOp = io::Op<T, Fault>;

// What a call that succeeded moved.
struct Done {
  std::uint32_t bytes = 0;    // of file data
  std::uint32_t entries = 0;  // of a directory
};

// Belongs to the reactor's thread. After open() it must be closed before it is destroyed.
class Session {
 public:
  Session(io::Reactor& reactor, io::SlabPool& pool, rpc::TcpWorker& tcp, const rpc::AuthSys& caller,
          std::uint32_t first_xid)
      : reactor_(reactor), tcp_(tcp), caller_(caller), client_(reactor, pool, first_xid) {}

  LoadOp<> open(const rpc::PeerAddress& server);
  io::Op<> close() { return client_.close(); }
  [[nodiscard]] bool connected() const { return client_.connected(); }
  [[nodiscard]] io::Reactor& reactor() const { return reactor_; }

  // Calls a procedure and decodes its results as Res; `look(const Res&)` turns them into a Result<T, Fault>
  // while what they refer to is still there.
  template <class T, class Res, class Args, class Look>
  LoadOp<T> call_program(rpc::ProcedureId id, Args args, Look look) {
    auto results =
        co_await client_.call(id, {.auth = caller_}, [&args](xdr::Encoder& out) { encode(out, args); })
            .as_result();
    if (!results) co_return base::fail(Fault{name_of(results.error())});
    co_return co_await look_at<T, Res>(*results, look);
  }

  // The same for NFSv3, where any status but NFS3_OK is a Fault and `look` sees the OK arm.
  template <class Res, class Args, class Look>
  LoadOp<Done> call(nfs3::NFS_V3_procedure procedure, Args args, Look look) {
    return call_program<Done, Res>({nfs3::NFS_PROGRAM, nfs3::NFS_V3, static_cast<std::uint32_t>(procedure)},
                                   std::move(args), [look](const Res& res) -> base::Result<Done, Fault> {
                                     if (res.status != nfs3::nfsstat3::NFS3_OK)
                                       return base::fail(Fault{nfs3::name_of(res.status)});
                                     return look(*res.resok());
                                   });
  }
  template <class Res, class Args>
  LoadOp<Done> call(nfs3::NFS_V3_procedure procedure, Args args) {
    return call<Res>(procedure, std::move(args),
                     [](const auto&) -> base::Result<Done, Fault> { return Done{}; });
  }
  // NFSPROC3_NULL, which has neither arguments nor results.
  LoadOp<Done> call_null();

 private:
  // No coroutine, so that the arena is on the stack and not in every frame.
  template <class T, class Res, class Look>
  static base::Result<T, Fault> look_at(const rpc::Results& results, Look& look) {
    xdr::Arena arena;
    xdr::Decoder in = results.decoder(arena);
    Res res;
    if (!decode(in, res)) return base::fail(Fault{"results that do not decode"});
    return look(res);
  }

  io::Reactor& reactor_;
  rpc::TcpWorker& tcp_;
  const rpc::AuthSys caller_;
  rpc::Client client_;
};

}  // namespace braid::load
