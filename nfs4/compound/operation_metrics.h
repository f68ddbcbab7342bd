// What is counted of each operation.
#pragma once

#include <array>

#include "base/metrics.h"
#include "nfs4/compound/operation_table.h"
#include "rpc/usage.h"

namespace braid::nfs4 {

class OperationMetrics {
 public:
  struct Entry {
    base::Counter* operations = nullptr;
    base::LatencyHistogram* latency = nullptr;  // of some of them
    base::Counter* errors = nullptr;            // those that ended with another status than NFS4_OK
  };

  // For the rows of `table` that have a handler.
  OperationMetrics(const OperationTable& table, base::MetricRegistry& registry);
  // Counts an operation. True if its time is to be measured, too: to look at the clock twice takes longer
  // than many an operation does, so each thread measures its first one of a kind, and from then on one in 16.
  bool begin(nfs_opnum4 number) {
    const Entry& entry = entries_[static_cast<std::uint32_t>(number)];
    return entry.operations != nullptr && entry.operations->add() % 16 == 0;
  }
  // Only of an operation for which begin() said so.
  void measured(nfs_opnum4 number, base::Duration took) {
    entries_[static_cast<std::uint32_t>(number)].latency->add(took);
  }
  void failed(nfs_opnum4 number) {
    if (base::Counter* const errors = entries_[static_cast<std::uint32_t>(number)].errors) errors->add();
  }
  // Of which kind an operation is.
  [[nodiscard]] rpc::Work work_of(nfs_opnum4 number) const {
    return works_[static_cast<std::uint32_t>(number)];
  }
  // Null pointers for what has no handler.
  [[nodiscard]] const Entry& of(nfs_opnum4 number) const {
    return entries_[static_cast<std::uint32_t>(number)];
  }

 private:
  std::array<Entry, OperationTable::numbers> entries_{};
  std::array<rpc::Work, OperationTable::numbers> works_{};
};

}  // namespace braid::nfs4
