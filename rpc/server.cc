#include "rpc/server.h"

#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "rpc/session.h"

namespace braid::rpc {
namespace {

base::Counter& refusal(base::MetricRegistry& registry, std::string_view labels) {
  return registry.counter("braid_rpc_refused_total", "Messages that no procedure answered", labels);
}

}  // namespace

RefusalMetrics::RefusalMetrics(base::MetricRegistry& registry)
    : malformed(refusal(registry, R"(reason="malformed")")),
      unexpected_reply(refusal(registry, R"(reason="unexpected_reply")")),
      rpc_mismatch(refusal(registry, R"(reason="RPC_MISMATCH")")),
      auth_error(refusal(registry, R"(reason="AUTH_ERROR")")),
      prog_unavail(refusal(registry, R"(reason="PROG_UNAVAIL")")),
      prog_mismatch(refusal(registry, R"(reason="PROG_MISMATCH")")),
      proc_unavail(refusal(registry, R"(reason="PROC_UNAVAIL")")),
      garbage_args(refusal(registry, R"(reason="GARBAGE_ARGS")")),
      system_err(refusal(registry, R"(reason="SYSTEM_ERR")")) {}

Server::Server(const ServerOptions& options, std::span<const Program> programs,
               base::MetricRegistry& registry, const base::SipKey& key)
    : options_(options),
      table_(programs, registry),
      refusals_(registry),
      replays_(options.replay, key),
      budget_(options.bytes_max),
      over_share_(registry.counter("braid_rpc_over_share_total",
                                   "Messages that had to wait because their peer had its share of memory")) {
  replays_.register_metrics(registry);
  registry.gauge("braid_rpc_held_bytes", "Memory reserved by calls in progress and replies not yet sent", {},
                 [this] { return static_cast<double>(budget_.used()); });
}

void Server::note_over_share(const PeerAddress& peer, PeerAccount& account, base::TimePoint now) {
  over_share_.add();
  if (account.lines().due(now))
    base::log_event(base::Level::warning, "peer_over_share", "peer={} held_bytes={}", peer.text(),
                    account.held());
}

ServerWorker::ServerWorker(Server& server, io::Reactor& reactor, io::SlabPool& pool)
    : server_(server), reactor_(reactor), cursor_(pool), share_(server.budget(), reactor) {}

ServerWorker::~ServerWorker() {
  base::check(sessions_ == 0, "a worker outlives its connections and their calls");
}

Receiver& ServerWorker::on_connected(Connection& connection) { return *new Session(*this, connection); }

void ServerWorker::wait_for_budget(Session& session) {
  if (!std::exchange(session.blocked_, true)) blocked_.push_back(&session);
  if (std::exchange(wake_wanted_, true)) return;
  share_.wait({[](void* self) {
                 auto* worker = static_cast<ServerWorker*>(self);
                 worker->wake_wanted_ = false;
                 worker->wake_blocked();
               },
               this});
}

void ServerWorker::forget(Session& session) {
  if (session.blocked_) std::erase(blocked_, &session);
  woken_->with([&](std::vector<Session*>& woken) { std::erase(woken, &session); });
}

void ServerWorker::wake_later(Session& session) {
  woken_->with([&](std::vector<Session*>& woken) {
    woken.push_back(&session);
    if (woken.size() > 1) return;
    reactor_.post([list = woken_] {
      const auto sessions = list->with([](std::vector<Session*>& all) { return std::exchange(all, {}); });
      for (Session* const each : sessions) each->look_again_here();
    });
  });
}

void ServerWorker::wake_blocked() {
  for (Session* session : std::exchange(blocked_, {})) {
    session->blocked_ = false;
    session->connection_->resume();
  }
}

}  // namespace braid::rpc
