// The side of the control protocol that is called: an RPC program. docs/protocol-pnfs-control.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/guarded.h"
#include "io/op.h"
#include "io/payload.h"
#include "io/pipe.h"
#include "io/slab.h"
#include "pnfs/control.x.h"
#include "pnfs/control_body.h"
#include "pnfs/control_session.h"
#include "pnfs/hello.h"
#include "pnfs/keys.h"
#include "rpc/call.h"
#include "rpc/program.h"

namespace braid::pnfs {

// Who calls. It has proved that it has the secret.
struct ControlCaller {
  const Introduction& hello;
  std::uint32_t revision = 0;  // that both sides speak
  rpc::PeerAddress peer;       // of the connection that this call came by
};

// One call: verified, not yet decoded (decode_body()).
struct ControlRequest {
  ControlCaller from;
  io::Payload body;
  io::Payload bulk;
  io::SlabCursor& memory;  // of the thread that runs the call
  io::PipePool* pipes;     // for bulk data of the answer; null: it has to be in memory
};
struct ControlAnswer {
  base::Bytes body;  // at most BODY_BYTES_MAX
  io::Payload bulk;  // at most BULK_BYTES_MAX
};
template <class T = void>
using ControlOp = io::Op<T, control_status>;

// What the service is for. Thread-safe; outlives it.
class ControlHandler {
 public:
  virtual ~ControlHandler() = default;
  // Asked before the caller has proved anything, so this must have no effect: CONTROL_OK, or what the hello
  // is refused with. That the two sides fit each other (judge()) has been seen to.
  virtual control_status look_at(const control_hello& hello, const rpc::PeerAddress& peer) = 0;
  // The caller has proved that it has the secret; there is a session when this has ended well.
  virtual ControlOp<> admit(const ControlCaller& caller) = 0;
  // The error is what the call is refused with: CONTROL_BAD_BODY for what cannot be decoded, CONTROL_DELAY.
  virtual ControlOp<ControlAnswer> handle(const ControlRequest& request) = 0;
};

// A sealed answer; CONTROL_DELAY if the pool has no memory for it.
template <class Res>
base::Result<ControlAnswer, control_status> answer_of(const Res& result, io::SlabCursor& memory,
                                                      io::Payload bulk = {}) {
  auto body = encode_body(result, memory);
  if (!body) return base::fail(control_status::CONTROL_DELAY);
  return ControlAnswer{std::move(*body), std::move(bulk)};
}

struct ControlServiceLimits {
  std::size_t sessions_max = 4096;
  std::size_t sessions_per_server_max = 256;  // of callers with the same role and server id
};

// Lives as long as the RPC server that calls it. Thread-safe. Sessions do not end with their connection: for
// one more than the limits allow, the one that has been idle longest is forgotten. A metadata server's hello
// replaces earlier ones (Channel): nothing of them starts any more, and there is no session, but
// CONTROL_DELAY, before what runs has ended. So a call of the new session comes after all calls of before
// that were not answered.
class ControlService final : public rpc::Service {
 public:
  // What a hello of this side says now; any thread.
  using Own = std::function<Introduction()>;

  // `clock`, `secret` and `handler` outlive the service.
  ControlService(const base::Clock& clock, const ClusterSecret& secret, Own own, ControlHandler& handler,
                 const ControlServiceLimits& limits = {});

  // Program PNFS_CONTROL; it refers to this service.
  [[nodiscard]] rpc::Program program();
  [[nodiscard]] std::size_t sessions() const;

 private:
  struct Session {
    Session(std::uint64_t id, control_role own, Reception::Admitted admitted)
        : seals(std::in_place, admitted.session_key, id, own, admitted.signs_bulk),
          caller(std::move(admitted.caller)),
          channel(admitted.channel),
          revision(admitted.revision),
          signs_bulk(admitted.signs_bulk) {}
    // A hello that was admitted later is said to end what this one's caller says.
    [[nodiscard]] bool replaced_by(const Session& later) const;
    base::Guarded<ControlSession> seals;
    const Introduction caller;
    const Channel channel;
    const std::uint32_t revision;
    const bool signs_bulk;
    std::atomic<std::uint32_t> running = 0;  // calls; more of them only under the sessions' lock
    // Guarded by the sessions' lock.
    base::TimePoint used;
    bool ended = false;  // no call starts any more
  };
  using Sessions = std::unordered_map<std::uint64_t, std::shared_ptr<Session>>;
  // A call of a session, from before it is handled until it has been.
  class Running;

  static io::Op<rpc::Answer> null(rpc::Service& service, rpc::Call& call, rpc::Reply& reply);
  static io::Op<rpc::Answer> hello(rpc::Service& service, rpc::Call& call, rpc::Reply& reply);
  static io::Op<rpc::Answer> prove(rpc::Service& service, rpc::Call& call, rpc::Reply& reply);
  static io::Op<rpc::Answer> exchange(rpc::Service& service, rpc::Call& call, rpc::Reply& reply);

  ControlOp<> admit(const PROVEargs& args, const rpc::PeerAddress& peer);
  // CONTROL_BUSY: there is no room for one more.
  base::Result<void, control_status> keep(std::uint64_t id, std::shared_ptr<Session> session);
  // False: calls that run are not over.
  bool end_replaced(const Session& by);
  std::optional<Running> begin(std::uint64_t id);
  static bool make_room(Sessions& sessions, const ControlServiceLimits& limits, const Introduction& caller);

  const base::Clock& clock_;
  const Own own_;
  ControlHandler& handler_;
  const ControlServiceLimits limits_;
  base::Guarded<Reception> reception_;
  base::Guarded<Sessions> sessions_;
};

}  // namespace braid::pnfs
