// Who may connect, and which reactor takes the next one.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "rdma/options.h"
#include "rdma/verbs.h"
#include "rdma/worker.h"
#include "rpc/connection_limit.h"
#include "rpc/transport.h"

namespace braid::rdma {

// Tells the peer, the log and the metrics.
void refuse(std::unique_ptr<ConnectRequest> request, Refusal why, const RdmaMetrics& metrics);

// Called by the thread that listens. What it is given outlives it.
class Admission final : public ListenerUser {
 public:
  // Where connections go: the one with the fewest gets the next.
  struct Target {
    RdmaWorker* worker;
    rpc::Acceptor* acceptor;
  };
  // `limit` is one of every transport. Unlike connections of TCP no idle one is closed for others: it holds
  // registered memory of its client. So an address has its share of them from the first one on.
  Admission(std::vector<Target> targets, rpc::ConnectionLimit& limit, RdmaMetrics& metrics)
      : targets_(std::move(targets)), limit_(limit), metrics_(metrics) {}

  void on_request(std::unique_ptr<ConnectRequest> request) override;

 private:
  // Why it is not taken, if it is not. One of TCP makes room for it.
  [[nodiscard]] std::optional<Refusal> refusal(const rpc::PeerAddress& peer, bool known, std::size_t room);

  const std::vector<Target> targets_;
  rpc::ConnectionLimit& limit_;
  RdmaMetrics& metrics_;
};

}  // namespace braid::rdma
