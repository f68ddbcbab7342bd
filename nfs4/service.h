// The NFSv4 program (RFC 7530, 8881, 7862): NULL and COMPOUND.
#pragma once

#include "base/metrics.h"
#include "nfs4/compound/operation_metrics.h"
#include "nfs4/compound/operation_table.h"
#include "nfs4/options.h"
#include "nfs4/server_state.h"
#include "rpc/program.h"

namespace braid::nfs4 {

// Lives as long as the RPC server that calls it. Thread-safe.
class Nfs4Service final : public rpc::Service {
 public:
  // `state` and `registry` outlive this.
  Nfs4Service(const ServerState& state, const OperationTable& table, base::MetricRegistry& registry)
      : state_(state), table_(table), metrics_(table_, registry) {}

  [[nodiscard]] const ServerState& state() const { return state_; }
  [[nodiscard]] const OperationTable& table() const { return table_; }
  [[nodiscard]] OperationMetrics& metrics() { return metrics_; }
  [[nodiscard]] const OperationMetrics& metrics() const { return metrics_; }
  // Version 4 for program NFS4_PROGRAM; it refers to this service.
  [[nodiscard]] rpc::Program program();

 private:
  const ServerState& state_;
  const OperationTable table_;
  OperationMetrics metrics_;
};

}  // namespace braid::nfs4
