// Calls from the server to its clients: CB_COMPOUND with one operation in it (RFC 8881 section 20, RFC 7530
// section 15).
//
// To a client with sessions they go over a connection that it has bound to the back channel of one of its
// sessions, on that connection's thread. To a 4.0 client they go over a connection of our own to the address
// that it gave; all of those belong to one thread.
//
//   auto answer = co_await callbacks.call(client, nfs_cb_opnum4::OP_CB_RECALL, args).as_result();
//   if (!answer) ... there was no way to the client, or it did not answer
//   else if (answer->status == nfsstat4::NFS4ERR_DELAY) ... ask again later
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/guarded.h"
#include "io/gate.h"
#include "io/op.h"
#include "io/reactor.h"
#include "io/slab.h"
#include "nfs4/callback/answer.h"
#include "nfs4/callback/cb_compound.h"
#include "nfs4/callback/paths40.h"
#include "nfs4/clients.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/state/deferred_work.h"
#include "rpc/back_channel.h"
#include "rpc/tcp_worker.h"

namespace braid::nfs4::callback {

struct CallbackOptions {
  base::Duration timeout = std::chrono::seconds(10);  // of one call
  // So long the next call to a 4.0 client that could not be reached fails at once, and longer if it could not
  // before (Path40).
  base::Duration retry_after = std::chrono::seconds(30);
  Paths40::Limits paths;
};

// What the holder of a write delegation says of its file.
struct CachedAttributes {
  std::uint64_t change = 0;  // as when the delegation was given, if nothing has changed since
  std::uint64_t size = 0;
  std::optional<vfs::Time> atime;  // of those that keep the times
  std::optional<vfs::Time> mtime;
};

// Thread-safe unless noted. close() must have ended before it is destroyed.
class Callbacks {
 public:
  // Connections to 4.0 clients belong to `tcp` and its reactor. All references outlive this.
  Callbacks(Clients& clients, rpc::TcpWorker& tcp, io::SlabPool& pool, const CallbackOptions& options);
  ~Callbacks();
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;

  // To be awaited on a reactor's thread, which it comes back to. `args` is the operation's argument type; it
  // is encoded before this returns, so its views may end then. One attempt: what to do about a failure, or
  // about NFS4ERR_DELAY, is the caller's affair. `referring`: at most referring_max count.
  template <class Args>
  CallbackOp<Answer> call(clientid4 client, nfs_cb_opnum4 op, const Args& args,
                          std::vector<ReferringCall> referring = {}) {
    io::SlabCursor cursor(pool_);
    xdr::Encoder out(cursor);
    encode(out, args);
    return send(client, Request{.op = op, .args = bytes_of(out), .referring = std::move(referring)});
  }
  // CB_GETATTR, once; on a reactor's thread. `busy`: ask again later.
  CallbackOp<CachedAttributes> getattr(clientid4 client, vfs::FileHandle file, bool times);
  // Whether a call would have a way to the client, as far as one knows: before a delegation is given.
  [[nodiscard]] bool reachable(clientid4 client) const;
  // The same, before a delegation is given. Of a 4.0 client of which nobody knows it is found out in the
  // background, for the next time.
  [[nodiscard]] bool reachable_soon(clientid4 client);
  // A 4.0 client that may have delegations to reclaim has confirmed where to call it. If that is where it is
  // itself, then finds out in the background whether that works; other connections wait until they are
  // wanted.
  void probe_own(clientid4 client);
  // The same, of a client that has bound a connection to this session, or said anew how to call it, after it
  // had not answered a call. Does nothing for any other session.
  void probe(state::SessionRef session);
  // How a call that is repeated goes on.
  enum class Again : std::uint8_t {
    no,     // there is nothing more to be said
    soon,   // what keeps the client from answering takes a moment
    later,  // it cannot be reached, or wants time
  };
  using Attempt = std::function<io::Op<Again>()>;
  // In the background, on the thread of the TcpWorker: one attempt after the other, with pauses, until one
  // says no, for at most repeat_patience. None begins once this is being closed; what `attempt` refers to
  // lives until then.
  void repeat(Attempt attempt);
  static constexpr base::Duration repeat_patience = std::chrono::minutes(2);
  // CB_RECALL (RFC 8881 20.2): in the background, again and again until the client has taken note, or is
  // gone. Whoever does not return the delegation in time has it revoked by the server's clock, not by this.
  void recall(state::Recall recall);
  // CB_RECALL_ANY (RFC 8881 20.6): in the background, once. The client is to keep so many delegations.
  void recall_any(clientid4 client, std::uint32_t keep);
  // CB_RECALL_SLOT (RFC 8881 20.8): in the background, once; the session should use slots up to `target`.
  void recall_slots(state::SessionRef session, std::uint32_t target);
  // CB_NOTIFY_LOCK (RFC 8881 20.11): in the background, once; a client that does not hear of it asks for its
  // lock again by itself.
  void notify_lock(state::LockTurn turn);

  // On the reactor of the TcpWorker, when the connections of clients have been closed or are about to be: no
  // call is left when it returns.
  io::Op<> close();

 private:
  static base::Bytes bytes_of(xdr::Encoder& out);
  // Whoever closes us waits for those that began before, and none begins after.
  template <class F>
  void in_background(F make) {
    ++running_;
    if (closing_) {
      --running_;
      return;
    }
    tcp_.reactor().post([this, make = std::move(make)] {
      io::spawn(gate_, make());
      --running_;
    });
  }
  CallbackOp<Answer> send(clientid4 client, Request request);
  CallbackOp<Answer> send_in_session(state::SessionRef session, Request request);
  CallbackOp<SessionAnswer> exchange(const state::Session& session, const rpc::BackChannelRef& connection,
                                     const state::Session::BackSlot& slot, const Request& request);
  CallbackOp<Answer> send_4_0(clientid4 client, state::CallbackAddress to, Request request);
  void probe(clientid4 client);
  // On the reactor of the TcpWorker, all of these.
  io::Op<> probe_here(clientid4 client);
  io::Op<> probe_session_here(state::SessionRef session);
  io::Op<> repeat_here(Attempt attempt);
  io::Op<Again> try_recall(const state::Recall& recall);
  io::Op<> recall_any_here(clientid4 client, std::uint32_t keep);
  io::Op<> recall_slots_here(state::SessionRef session, std::uint32_t target);
  io::Op<> notify_lock_here(state::LockTurn turn);
  std::shared_ptr<Path40> path_to(clientid4 client, const state::CallbackAddress& to);
  void drop_paths_of_gone();

  Clients& clients_;
  rpc::TcpWorker& tcp_;
  io::SlabPool& pool_;
  const CallbackOptions options_;
  std::atomic<bool> closing_{false};
  std::atomic<std::size_t> running_{0};  // calls
  base::Guarded<std::unordered_set<clientid4>> reachable_4_0_;
  base::Guarded<std::unordered_set<clientid4>> probed_;  // 4.0 clients that are being found out about
  // Of the TcpWorker's thread.
  Paths40 paths_;
  io::Gate gate_;
};

}  // namespace braid::nfs4::callback
