// The calling side of the control protocol: one other server. docs/protocol-pnfs-control.md.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "io/gate.h"
#include "io/op.h"
#include "io/payload.h"
#include "io/slab.h"
#include "pnfs/control.x.h"
#include "pnfs/control_body.h"
#include "pnfs/control_path.h"
#include "pnfs/control_session.h"
#include "pnfs/hello.h"
#include "pnfs/keys.h"
#include "rpc/call_error.h"
#include "rpc/client.h"

namespace braid::pnfs {

// Why a call brought no answer.
enum class PeerFault : std::uint8_t {
  unreachable,  // no connection, or it ended: a call that was sent may have been executed
  timed_out,    // the same; an answer that comes later is dropped
  refused,      // by the other side, or by this one before PROVE: PeerError::status says why
  bad_reply,    // not signed by the other side, or no answer to this call
  no_memory,    // the call could not be encoded; it was not sent
  closing,      // close() has been called
};
std::string_view name_of(PeerFault fault);

struct PeerError {
  PeerFault fault = PeerFault::unreachable;
  control_status status = control_status::CONTROL_OK;  // other than CONTROL_OK with `refused` alone
  // The call was sent in this session and may run now, or later; 0: it does not.
  std::uint64_t running_in = 0;
  friend bool operator==(const PeerError&, const PeerError&) = default;
};

template <class T = void>
using PeerOp = io::Op<T, PeerError>;

// What came back: verified, not yet decoded.
struct PeerReply {
  io::Payload body;
  io::Payload bulk;
};

// The same as a value of control.x, which refers to what the reply owns.
template <class Res>
struct TypedReply {
  std::unique_ptr<xdr::Arena> arena;
  io::Payload body;
  io::Payload bulk;
  Res result;
};

struct ControlPeerOptions {
  // Of HELLO and of PROVE. Before these, a connection may take about 3 seconds to fail.
  base::Duration hello_timeout = std::chrono::seconds(5);
  // After a connection or a hello that failed, calls fail at once for so long: at first, then twice as long
  // after each failure, and never more than the second.
  base::Duration retry_first = std::chrono::milliseconds(100);
  base::Duration retry_max = std::chrono::seconds(2);
  Channel channel{};  // of a metadata server
};

// Belongs to the thread of its path. Connects when it is first called, and again after the connection or the
// session has ended; calls that come meanwhile wait for the same hello. Any number of calls at once. close()
// must have ended before it is destroyed.
class ControlPeer {
 public:
  // What a hello of this side says now; called on the peer's thread.
  using Own = std::function<Introduction()>;
  // Whether the other side, which has proved that it has the secret, is the one that is meant: CONTROL_OK, or
  // what calls are then `refused` with.
  using Accept = std::function<control_status(const Introduction& other)>;

  // `secret` outlives the peer.
  ControlPeer(ControlPath path, io::SlabPool& slabs, const rpc::PeerAddress& to, const ClusterSecret& secret,
              Own own, Accept accept, const ControlPeerOptions& options = {});
  ControlPeer(const ControlPeer&) = delete;
  ControlPeer& operator=(const ControlPeer&) = delete;

  [[nodiscard]] const rpc::PeerAddress& to() const { return to_; }
  // The session's other side, once there was one.
  [[nodiscard]] const std::optional<Introduction>& other() const { return other_; }
  // There is a session now, as far as this side knows.
  [[nodiscard]] bool in_session() const { return session_ != nullptr && client_.connected(); }

  // What a reply may bring: where the caller makes room for it, one that brings more is a bad_reply.
  struct ReplyBytes {
    std::uint32_t body = 1024;
    std::uint32_t bulk = 0;
  };
  // `timeout` counts from when the call is sent. A body has at most BODY_BYTES_MAX bytes, bulk data
  // BULK_BYTES_MAX.
  PeerOp<PeerReply> call(base::Bytes body, io::Payload bulk, base::Duration timeout, const ReplyBytes& reply);

  // Returns when the call that failed so runs no more, and never will: in a later session than its own. Of a
  // channel alone.
  PeerOp<> outlast(const PeerError& error);

  // Of a metadata server to a data server, and the other way round. An answer to another operation is a
  // bad_reply. The arguments are encoded before the function returns.
  PeerOp<TypedReply<to_data_res>> call_data(const to_data_args& args, io::Payload bulk,
                                            base::Duration timeout);
  PeerOp<TypedReply<to_metadata_res>> call_metadata(const to_metadata_args& args, base::Duration timeout);

  // Ends the connection; calls that run end with `closing` or `unreachable`. Returns when all have.
  io::Op<> close();

 private:
  // co_await SetUpEnded{peer}: until nobody says hello.
  struct SetUpEnded {
    ControlPeer& peer;
    [[nodiscard]] bool await_ready() const { return !peer.setting_up_; }
    void await_suspend(std::coroutine_handle<> handle) { peer.waiting_.push_back(handle); }
    void await_resume() const {}
  };

  PeerOp<> be_in_session();
  PeerOp<> set_up();
  PeerOp<> connect();
  PeerOp<> say_hello();
  void note_failure(const PeerError& error);
  // A procedure other than EXCHANGE.
  template <class Args>
  rpc::CallOp<rpc::Results> plain_call(PNFS_CONTROL_V1_procedure procedure, const Args& args);
  PeerError failed(rpc::CallError error) const;
  // The results of an EXCHANGE in this session.
  base::Result<PeerReply, PeerError> take(const rpc::Results& results, std::uint64_t sequence,
                                          const std::shared_ptr<ControlSession>& session);
  template <class Res>
  PeerOp<TypedReply<Res>> typed(base::Result<base::Bytes> body, std::size_t operation, io::Payload bulk,
                                base::Duration timeout, ReplyBytes reply_bytes);
  void drop(const std::shared_ptr<ControlSession>& session);

  const ControlPath path_;
  const rpc::PeerAddress to_;
  const ClusterSecret& secret_;
  const Own own_;
  const Accept accept_;
  const ControlPeerOptions options_;
  io::SlabCursor memory_;
  rpc::Client client_;
  std::shared_ptr<ControlSession> session_;  // shared with the calls that were sent in it
  std::optional<Introduction> other_;
  bool setting_up_ = false;
  bool closed_ = false;
  std::vector<std::coroutine_handle<>> waiting_;  // for the end of a set-up
  PeerError last_error_;                          // of the set-up that failed last
  base::TimePoint not_before_{};                  // no connection is tried before that
  base::Duration retry_{};                        // after the next failure
  io::Gate gate_;
};

}  // namespace braid::pnfs
