// Who may connect: the limit of connections, and which reactor takes the next one.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "rdma/options.h"
#include "rdma/verbs.h"
#include "rdma/worker.h"
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
  // `connections` says how many there are now, of every transport; beyond `connections_max` peers are
  // refused. Unlike those of TCP no idle one is closed instead: it holds registered memory of its client.
  Admission(std::vector<Target> targets, std::size_t connections_max,
            std::function<std::size_t()> connections, RdmaMetrics& metrics)
      : targets_(std::move(targets)),
        connections_max_(connections_max),
        connections_(std::move(connections)),
        metrics_(metrics) {}

  void on_request(std::unique_ptr<ConnectRequest> request) override;

 private:
  const std::vector<Target> targets_;
  const std::size_t connections_max_;
  const std::function<std::size_t()> connections_;
  RdmaMetrics& metrics_;
};

}  // namespace braid::rdma
