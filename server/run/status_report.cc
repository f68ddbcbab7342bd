#include "server/run/status_report.h"

#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <numeric>

#include "server/metrics/quantile.h"
#include "server/metrics/server_metrics.h"
#include "server/server.h"

namespace braid::server::run {
namespace {

using nlohmann::json;

json exports_of(const Server& server) {
  json list = json::array();
  for (const ExportSet::Entry& entry : server.exports().entries()) {
    const auto& served = entry.file_system;
    const vfs::posix::PosixStats stats = served == nullptr ? vfs::posix::PosixStats() : served->stats();
    list.push_back({{"path", entry.config.path},
                    {"directory", entry.config.directory},
                    {"squash", config::name_of(entry.config.squash)},
                    {"read_only", entry.config.read_only},
                    {"sync", entry.config.sync},
                    {"clients", entry.config.clients},
                    {"restricted", served == nullptr ? "" : served->restricted()},
                    {"unavailable", entry.unavailable},
                    {"open_files", stats.cache.descriptors},
                    {"handle_cache_hits", stats.cache.hits},
                    {"handle_cache_misses", stats.cache.misses},
                    {"handle_cache_evictions", stats.cache.evicted},
                    {"inline_stalls", stats.stalls}});
  }
  return list;
}

std::uint64_t calls_of(const base::LatencyHistogram::Snapshot& latency) {
  return std::accumulate(latency.counts.begin(), latency.counts.end(), std::uint64_t{0});
}

json procedures_of(Server& server) {
  json list = json::array();
  for (const rpc::DispatchTable::Row& row : server.rpc().table().rows()) {
    const base::LatencyHistogram::Snapshot latency = row.metrics->latency.snapshot();
    const std::uint64_t calls = calls_of(latency);
    list.push_back({{"program", row.program},
                    {"version", row.version},
                    {"procedure", row.procedure},
                    {"calls", calls},
                    {"errors", row.metrics->errors.value()},
                    {"received_bytes", row.metrics->bytes_in.value()},
                    {"sent_bytes", row.metrics->bytes_out.value()},
                    {"mean_us", calls == 0 ? 0 : latency.nanoseconds / calls / 1000},
                    {"p99_us", metrics::quantile_us(latency, 0.99)}});
  }
  return list;
}

json operations_of(Server& server) {
  json list = json::array();
  const nfs4::Nfs4Engine& engine = server.nfs4();
  for (const nfs4::Operation& row : engine.table().rows()) {
    if (row.handler == nullptr) continue;
    const nfs4::OperationMetrics::Entry& entry = engine.metrics().of(row.number);
    const base::LatencyHistogram::Snapshot latency = entry.latency->snapshot();
    const std::uint64_t measured = calls_of(latency);
    list.push_back({{"operation", row.name},
                    {"calls", entry.operations->value()},
                    {"errors", entry.errors->value()},
                    {"mean_us", measured == 0 ? 0 : latency.nanoseconds / measured / 1000},
                    {"p99_us", metrics::quantile_us(latency, 0.99)}});
  }
  return list;
}

json nfs4_of(Server& server, base::TimePoint now) {
  using nfs4::state::StateKind;
  const nfs4::ServerState& state = server.nfs4().state();
  const nfs4::Clients::Summary clients = state.clients.summary(now);
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
          {"reclaiming_clients", clients.reclaiming}};
}

json replay_cache_of(Server& server) {
  const rpc::ReplayStats stats = server.rpc().replays().stats();
  return {{"entries", stats.entries},           {"bytes", stats.bytes},   {"hits", stats.hits},
          {"running_hits", stats.running_hits}, {"misses", stats.misses}, {"evictions", stats.evictions}};
}

json pool_of(const Server& server) {
  const io::BlockingPoolStats stats = server.pool().stats();
  json jobs = json::object();
  for (std::size_t i = 0; i < io::blocking_reasons; ++i)
    jobs[std::string(io::name_of(static_cast<io::BlockingReason>(i)))] = stats.jobs.at(i);
  return {{"threads", stats.threads}, {"queued", stats.queued}, {"refused", stats.refused}, {"jobs", jobs}};
}

json memory_of(const Server& server) {
  const io::SlabPoolStats slabs = server.slabs().stats();
  return {{"resident_bytes", metrics::resident_bytes()},
          {"buffer_bytes_max", slabs.bytes_max},
          {"buffer_bytes_mapped", slabs.bytes_mapped},
          {"buffer_bytes_used", slabs.bytes_used}};
}

json devices_of(const RdmaService& rdma) {
  json list = json::array();
  for (const rdma::Device* device : rdma.devices()) {
    json ports = json::array();
    for (const rdma::Port& port : device->ports())
      ports.push_back({{"port", port.number}, {"state", rdma::name_of(port.state)}});
    list.push_back({{"device", device->name()}, {"ports", ports}});
  }
  return list;
}

json rdma_of(const Server& server) {
  const RdmaService* rdma = server.rdma();
  if (rdma == nullptr) return {{"on", false}, {"reason", server.rdma_refusal()}};
  return {{"on", true},
          {"port", rdma->port()},
          {"devices", devices_of(*rdma)},
          {"connections", rdma->connections()},
          {"credits", rdma->options().credits},
          {"inline_bytes_max", rdma->options().inline_bytes},
          {"registration", rdma::name_of(rdma->registration())},
          {"registered_bytes", rdma->bytes_registered()}};
}

json reactors_of(const Server& server) {
  json list = json::array();
  for (const auto& lane : server.lanes()) {
    const io::ReactorStats stats = lane->reactor().stats();
    list.push_back({{"connections", lane->connections()},
                    {"turns", stats.turns},
                    {"sleeps", stats.sleeps},
                    {"completions", stats.completions}});
  }
  return list;
}

}  // namespace

std::string status_json(Server& server, base::TimePoint started, base::TimePoint now) {
  json listen = json::array();
  for (const rpc::PeerAddress& address : server.addresses()) listen.push_back(address.text());
  const json report{
      {"version", BRAID_VERSION},
      {"pid", ::getpid()},
      {"uptime_seconds", std::chrono::duration_cast<std::chrono::seconds>(now - started).count()},
      {"listen", listen},
      {"rpcbind", server.rpcbind().accepted > 0},
      {"connections", server.connections()},
      {"rdma", rdma_of(server)},
      {"open_descriptors", metrics::open_descriptors()},
      {"exports", exports_of(server)},
      {"procedures", procedures_of(server)},
      {"nfs4", nfs4_of(server, now)},
      {"operations", operations_of(server)},
      {"replay_cache", replay_cache_of(server)},
      {"memory", memory_of(server)},
      {"blocking_pool", pool_of(server)},
      {"reactors", reactors_of(server)}};
  // Directory names may be no UTF-8.
  return report.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace braid::server::run
