// What is counted of each operation.
#pragma once

#include <array>

#include "base/metrics.h"
#include "nfs4/operation_table.h"

namespace braid::nfs4 {

class OperationMetrics {
 public:
  struct Entry {
    base::LatencyHistogram* latency = nullptr;  // its count is the number of operations
    base::Counter* errors = nullptr;            // of them, those with another status than NFS4_OK
  };

  // For the rows of `table` that have a handler.
  OperationMetrics(const OperationTable& table, base::MetricRegistry& registry);
  void count(nfs_opnum4 number, base::Duration took, nfsstat4 status) {
    const Entry& entry = entries_[static_cast<std::uint32_t>(number)];
    if (entry.latency == nullptr) return;
    entry.latency->add(took);
    if (status != nfsstat4::NFS4_OK) entry.errors->add();
  }
  // Null pointers for what has no handler.
  [[nodiscard]] const Entry& of(nfs_opnum4 number) const {
    return entries_[static_cast<std::uint32_t>(number)];
  }

 private:
  std::array<Entry, OperationTable::numbers> entries_{};
};

}  // namespace braid::nfs4
