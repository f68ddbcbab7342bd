#include "nfs4/callback/path40.h"

#include <algorithm>
#include <chrono>

#include "nfs4/callback/callback_target.h"
#include "rpc/tcp_connect.h"

namespace braid::nfs4::callback {
namespace {

constexpr base::Duration connecting_poll = std::chrono::milliseconds(20);

}  // namespace

bool Connecting::begin(const rpc::PeerKey& peer, base::TimePoint now) {
  if (all_ >= all_max_) return false;
  Peer& own = of_peer_[peer];
  if (own.connecting >= peer_max_ || now < own.not_before) return false;
  ++own.connecting;
  ++all_;
  return true;
}

void Connecting::end(const rpc::PeerKey& peer, bool reached, base::TimePoint now) {
  const auto found = of_peer_.find(peer);
  Peer& own = found->second;
  --all_;
  --own.connecting;
  if (!reached) {
    own.pause = std::clamp(2 * own.pause, pause, pause_max);
    own.not_before = now + own.pause;
    if (of_peer_.size() > peers_max) forget_one();
  } else if (own.connecting == 0) {
    of_peer_.erase(found);
  } else {
    own.pause = {};
    own.not_before = {};
  }
}

void Connecting::forget_one() {
  auto soonest = of_peer_.end();
  for (auto it = of_peer_.begin(); it != of_peer_.end(); ++it)
    if (it->second.connecting == 0 &&
        (soonest == of_peer_.end() || it->second.not_before < soonest->second.not_before))
      soonest = it;
  if (soonest != of_peer_.end()) of_peer_.erase(soonest);
}

rpc::ProcedureId Path40::procedure(std::uint32_t number) const { return {to_.program, NFS_CB, number}; }

CallbackOp<> Path40::connect(base::Duration retry_after) {
  io::Reactor& reactor = tcp_.reactor();
  while (connecting_) (void)co_await reactor.sleep(connecting_poll).as_result();
  if (closed_) co_await base::fail(Failure::closing);
  if (client_.connected()) co_return;
  const auto target = callback_target(to_);
  if (!target || reactor.clock().now() < not_before_) co_await base::fail(Failure::no_path);
  if (!all_connecting_.begin(peer_, reactor.clock().now())) co_await base::fail(Failure::no_path);
  connecting_ = true;
  auto socket = co_await rpc::tcp_connect(reactor, target->address, {.syn_retries = 2}).as_result();
  connecting_ = false;
  all_connecting_.end(peer_, socket.has_value(), reactor.clock().now());
  if (closed_) co_await base::fail(Failure::closing);
  if (!socket) {
    not_before_ = reactor.clock().now() + retry_after * (1U << std::min(failures_++, retries_max));
    co_await base::fail(Failure::no_path);
  }
  failures_ = 0;
  client_.attach(tcp_.open(std::move(*socket), client_));
}

CallbackOp<> Path40::null(base::Duration timeout, base::Duration retry_after) {
  co_await connect(retry_after);
  auto encode_nothing = [](xdr::Encoder&) {};
  const auto results = co_await client_
                           .call(procedure(static_cast<std::uint32_t>(NFS_CB_procedure::CB_NULL)),
                                 {.auth = {}, .timeout = timeout}, encode_nothing)
                           .as_result();
  if (!results) co_await base::fail(failure_of(results.error()));
}

CallbackOp<Answer> Path40::call(Request request, base::Duration timeout, base::Duration retry_after) {
  co_await connect(retry_after);
  auto encode_args = [this, &request](xdr::Encoder& out) { encode_4_0(out, to_.ident, request); };
  // Linux takes AUTH_NONE for CB_NULL only.
  const auto results = co_await client_
                           .call(procedure(static_cast<std::uint32_t>(NFS_CB_procedure::CB_COMPOUND)),
                                 {.auth = rpc::AuthSys{}, .timeout = timeout}, encode_args)
                           .as_result();
  if (!results) co_return base::fail(failure_of(results.error()));
  co_return co_await decode_4_0(*results, request.op);
}

io::Op<> Path40::close() {
  closed_ = true;
  co_await client_.close();
  while (connecting_) co_await tcp_.reactor().sleep(connecting_poll);
}

}  // namespace braid::nfs4::callback
