#include "rdma/admission.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace braid::rdma {

void refuse(std::unique_ptr<ConnectRequest> request, Refusal why, const RdmaMetrics& metrics) {
  metrics.refused(why).add();
  base::log_event(base::Level::warning, "rdma_connection_refused", "peer={} reason={}",
                  request->peer().text(), name_of(why));
  request->refuse(why);
}

void Admission::on_request(std::unique_ptr<ConnectRequest> request) {
  if (connections_() >= connections_max_)
    return refuse(std::move(request), Refusal::connections_max, metrics_);
  const Target& least = *std::ranges::min_element(
      targets_, {}, [](const Target& target) { return target.worker->connections(); });
  least.worker->adopt(std::move(request), *least.acceptor);
}

}  // namespace braid::rdma
