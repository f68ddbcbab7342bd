#include "nfs4/compound/operation_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace braid::nfs4 {
namespace {

using enum nfs_opnum4;
using rpc::Work;

// Those whose kind their flags do not tell.
constexpr std::pair<nfs_opnum4, Work> kinds[] = {
    {OP_READ, Work::read},
    {OP_READ_PLUS, Work::read},
    {OP_WRITE, Work::write},
    {OP_COMMIT, Work::write},
    {OP_ALLOCATE, Work::write},
    {OP_DEALLOCATE, Work::write},
    {OP_COPY, Work::write},
    {OP_CLONE, Work::write},
    {OP_OPEN, Work::state},
    {OP_OPEN_CONFIRM, Work::state},
    {OP_OPEN_DOWNGRADE, Work::state},
    {OP_CLOSE, Work::state},
    {OP_LOCK, Work::state},
    {OP_LOCKT, Work::state},
    {OP_LOCKU, Work::state},
    {OP_DELEGRETURN, Work::state},
    {OP_GET_DIR_DELEGATION, Work::state},
    {OP_LAYOUTGET, Work::state},
    {OP_LAYOUTCOMMIT, Work::state},
    {OP_LAYOUTRETURN, Work::state},
    {OP_RELEASE_LOCKOWNER, Work::state},
    {OP_FREE_STATEID, Work::state},
    {OP_TEST_STATEID, Work::state},
    {OP_PUTFH, Work::none},
    {OP_PUTROOTFH, Work::none},
    {OP_PUTPUBFH, Work::none},
    {OP_GETFH, Work::none},
    {OP_SAVEFH, Work::none},
    {OP_RESTOREFH, Work::none},
};

// What needs no filehandle is about clients, sessions and connections.
Work work_of(const Operation& row) {
  const auto found = std::ranges::find(kinds, row.number, &std::pair<nfs_opnum4, Work>::first);
  if (found != std::end(kinds)) return found->second;
  if (!row.flags.needs_current) return Work::none;
  return row.flags.changes ? Work::change : Work::look;
}

}  // namespace

OperationMetrics::OperationMetrics(const OperationTable& table, base::MetricRegistry& registry) {
  for (const Operation& row : table.rows()) {
    // OP_ILLEGAL has none of the table's numbers, and is never done.
    if (static_cast<std::size_t>(row.number) >= works_.size()) continue;
    works_[static_cast<std::uint32_t>(row.number)] = nfs4::work_of(row);
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
