#include "rdma/admission.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "rpc/peer_account.h"

namespace braid::rdma {

void refuse(std::unique_ptr<ConnectRequest> request, Refusal why, const RdmaMetrics& metrics) {
  metrics.refused(why).add();
  base::log_event(rpc::log_source(request->peer()), base::Level::warning, "rdma_connection_refused",
                  "peer={} reason={}", request->peer().text(), name_of(why));
  request->refuse(why);
}

std::optional<Refusal> Admission::refusal(const rpc::PeerAddress& peer, bool known, std::size_t room) {
  using enum rpc::ConnectionLimit::Decision::Verdict;
  if (limit_.over_share(peer, known, room)) return Refusal::address_share;
  const rpc::ConnectionLimit::Decision decision = limit_.decide(peer, known);
  if (decision.verdict == take) return std::nullopt;
  // Of another address, that has more, one can be closed.
  if (decision.verdict != replace || !decision.victim.busy_too) return Refusal::connections_max;
  limit_.replace(decision.victim, [](rpc::TcpWorker*) {});
  return std::nullopt;
}

void Admission::on_request(std::unique_ptr<ConnectRequest> request) {
  const rpc::PeerAddress peer = request->peer();
  const Target& least = *std::ranges::min_element(
      targets_, {}, [](const Target& target) { return target.worker->connections(); });
  const bool known = least.acceptor->knows(peer);
  if (const auto why = refusal(peer, known, least.worker->room())) {
    limit_.note_refused();
    return refuse(std::move(request), *why, metrics_);
  }
  least.worker->adopt(std::move(request), *least.acceptor, limit_.enter(peer, known, rpc::Transport::rdma));
}

}  // namespace braid::rdma
