#include "nfs4/compound/operation_metrics.h"

#include <fmt/format.h>

#include <string>

namespace braid::nfs4 {

OperationMetrics::OperationMetrics(const OperationTable& table, base::MetricRegistry& registry) {
  for (const Operation& row : table.rows()) {
    if (row.handler == nullptr) continue;
    const std::string labels = fmt::format(R"(operation="{}")", row.name);
    entries_[static_cast<std::uint32_t>(row.number)] = {
        &registry.counter("braid_nfs4_operations_total", "Operations of COMPOUNDs", labels),
        &registry.histogram("braid_nfs4_operation_seconds", "Time that they took, measured of one in 16",
                            labels),
        &registry.counter("braid_nfs4_operation_errors_total", "Operations that ended with an error",
                          labels)};
  }
}

}  // namespace braid::nfs4
