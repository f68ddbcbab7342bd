#include "server/roles/nfs/nfs4_report.h"

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "server/metrics/quantile.h"

namespace braid::server::roles::nfs {
namespace {

using nlohmann::json;

json operations_of(const nfs4::Nfs4Engine& engine) {
  json list = json::array();
  for (const nfs4::Operation& row : engine.table().rows()) {
    if (row.handler == nullptr) continue;
    const nfs4::OperationMetrics::Entry& entry = engine.metrics().of(row.number);
    const base::LatencyHistogram::Snapshot latency = entry.latency->snapshot();
    const std::uint64_t measured = metrics::calls_of(latency);
    list.push_back({{"operation", row.name},
                    {"calls", entry.operations->value()},
                    {"errors", entry.errors->value()},
                    {"mean_us", measured == 0 ? 0 : latency.nanoseconds / measured / 1000},
                    {"p99_us", metrics::quantile_us(latency, 0.99)}});
  }
  return list;
}

constexpr std::size_t reclaiming_names_max = 16;

json state_of(const nfs4::ServerState& state) {
  using nfs4::state::StateKind;
  const nfs4::Clients::Summary clients = state.clients.summary(state.clock.now());
  const nfs4::state::StateCounts counts =
      state.states.with([](const nfs4::state::States& states) { return states.count(); });
  const auto left = std::chrono::ceil<std::chrono::seconds>(clients.grace_left).count();
  return {{"clients", clients.confirmed},
          {"courteous_clients", clients.courteous},
          {"sessions", clients.sessions},
          {"opens", counts.of(StateKind::open)},
          {"locks", counts.of(StateKind::lock)},
          {"delegations", counts.of(StateKind::delegation)},
          {"grace", state.clients.in_grace()},
          {"grace_left_seconds", left},
          {"reclaiming_clients", clients.reclaiming},
          {"reclaiming", known_clients(state.clients.reclaiming(reclaiming_names_max))}};
}

}  // namespace

json known_clients(const std::vector<nfs4::state::KnownClient>& clients) {
  json list = json::array();
  for (const nfs4::state::KnownClient& one : clients)
    list.push_back({{"name", nfs4::state::printable(one.owner)}, {"sessions", one.minor_version > 0}});
  return list;
}

void add_nfs4(json& report, const nfs4::Nfs4Engine& engine) {
  report["nfs4"] = state_of(engine.state());
  report["operations"] = operations_of(engine);
}

}  // namespace braid::server::roles::nfs
