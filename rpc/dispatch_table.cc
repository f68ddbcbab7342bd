#include "rpc/dispatch_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/assert.h"

namespace braid::rpc {
namespace {

ProcedureMetrics make_metrics(base::MetricRegistry& registry, const Program& program, std::uint32_t version,
                              std::string_view procedure) {
  const std::string labels =
      fmt::format(R"(program="{}",version="{}",procedure="{}")", program.name, version, procedure);
  return {registry.histogram("braid_rpc_latency_seconds",
                             "Time from a call's arrival to its reply being queued", labels),
          registry.counter("braid_rpc_errors_total", "Calls answered with an error of the protocol", labels),
          registry.counter("braid_rpc_received_bytes_total", "Bytes of calls", labels),
          registry.counter("braid_rpc_sent_bytes_total", "Bytes of replies", labels)};
}

}  // namespace

DispatchTable::DispatchTable(std::span<const Program> programs, base::MetricRegistry& registry) {
  for (const Program& program : programs) {
    for (const Version& version : program.versions) {
      Versioned& entry = versions_.emplace_back(program.number, version.number, std::vector<Route>{});
      entry.routes.resize(std::max<std::size_t>(1, version.procedures.size()),
                          Route{nullptr, nullptr, Replay::idempotent, 0, nullptr, nullptr, nullptr});
      for (std::size_t i = 0; i < entry.routes.size(); ++i) {
        // RFC 5531 section 12.1: procedure 0 exists always and does nothing.
        const Procedure null_procedure{.name = "NULL"};
        const bool listed = i < version.procedures.size() && version.procedures[i].handler != nullptr;
        if (!listed && i != 0) continue;
        const Procedure& row = listed ? version.procedures[i] : null_procedure;
        ProcedureMetrics& metrics =
            metrics_.emplace_back(make_metrics(registry, program, version.number, row.name));
        rows_.push_back({program.name, version.number, row.name, &metrics});
        entry.routes[i] = {row.handler, program.service, row.replay, row.reply_bytes_max,
                           row.keeps,   row.bulk,        &metrics};
        base::check(row.handler == nullptr || program.service != nullptr,
                    "a program with handlers has a service");
      }
    }
  }
}

DispatchTable::Found DispatchTable::find(std::uint32_t program, std::uint32_t version,
                                         std::uint32_t procedure) const {
  for (const Versioned& entry : versions_) {
    if (entry.version != version || entry.program != program) continue;
    if (procedure >= entry.routes.size() || entry.routes[procedure].metrics == nullptr)
      return {accept_stat::PROC_UNAVAIL};
    return {accept_stat::SUCCESS, &entry.routes[procedure]};
  }
  return mismatch(program);
}

DispatchTable::Found DispatchTable::mismatch(std::uint32_t program) const {
  Found found;
  for (const Versioned& entry : versions_) {
    if (entry.program != program) continue;
    const bool first = found.stat != accept_stat::PROG_MISMATCH;
    found.stat = accept_stat::PROG_MISMATCH;
    found.low = first ? entry.version : std::min(found.low, entry.version);
    found.high = first ? entry.version : std::max(found.high, entry.version);
  }
  return found;
}

}  // namespace braid::rpc
