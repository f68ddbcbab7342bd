#include "server/run/status_report.h"

#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "server/metrics/quantile.h"
#include "server/metrics/server_metrics.h"
#include "server/process.h"
#include "server/server.h"

namespace braid::server::run {
namespace {

using nlohmann::json;

json texts_of(const std::vector<rpc::PeerAddress>& addresses) {
  json list = json::array();
  for (const rpc::PeerAddress& address : addresses) list.push_back(address.text());
  return list;
}

json rule_of(const config::RuleConfig& rule) {
  return {{"squash", config::name_of(rule.squash)},
          {"read_only", rule.read_only},
          {"clients", rule.clients},
          {"anon_uid", rule.anon_uid},
          {"anon_gid", rule.anon_gid}};
}

json exports_of(const Server& server) {
  json list = json::array();
  const auto nested = server.exports().nested_mounts();
  for (const ExportSet::Entry& entry : server.exports().entries()) {
    const auto below = nested.find(entry.config.path);
    const auto& served = entry.file_system;
    const vfs::posix::PosixStats stats = served == nullptr ? vfs::posix::PosixStats() : served->stats();
    json one = rule_of(entry.config);
    for (const config::RuleConfig& rule : entry.config.rules) one["rules"].push_back(rule_of(rule));
    one.update({{"path", entry.config.path},
                {"directory", entry.config.directory},
                {"sync", entry.config.sync},
                {"restricted", served == nullptr ? "" : served->restricted()},
                {"unavailable", entry.unavailable},
                {"suspended", entry.suspended},
                {"held", held_text(entry)},
                {"mounts_below", below == nested.end() ? json::array() : json(below->second)},
                {"open_files", stats.cache.descriptors},
                {"handle_cache_hits", stats.cache.hits},
                {"handle_cache_misses", stats.cache.misses},
                {"handle_cache_evictions", stats.cache.evicted},
                {"inline_stalls", stats.stalls}});
    list.push_back(std::move(one));
  }
  return list;
}

json procedures_of(const rpc::DispatchTable& table) {
  json list = json::array();
  for (const rpc::DispatchTable::Row& row : table.rows()) {
    const base::LatencyHistogram::Snapshot latency = row.metrics->latency.snapshot();
    const std::uint64_t calls = metrics::calls_of(latency);
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

json replay_cache_of(rpc::ReplayCache& replays) {
  const rpc::ReplayStats stats = replays.stats();
  return {{"entries", stats.entries},           {"bytes", stats.bytes},   {"hits", stats.hits},
          {"running_hits", stats.running_hits}, {"misses", stats.misses}, {"evictions", stats.evictions}};
}

json pool_of(const Server& server) {
  const io::BlockingPoolStats stats = server.pool().stats();
  json jobs = json::object();
  for (std::size_t i = 0; i < io::blocking_reasons; ++i)
    jobs[std::string(io::name_of(static_cast<io::BlockingReason>(i)))] = stats.jobs.at(i);
  json exports = json::object();
  for (const io::FairQueue::GroupStats& group : stats.groups)
    exports[group.name] = {{"queued", group.queued}, {"running", group.running}, {"refused", group.refused}};
  return {{"threads", stats.threads},
          {"queued", stats.queued},
          {"refused", stats.refused},
          {"jobs", jobs},
          {"exports", exports}};
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
  for (const auto& thread : server.threads()) {
    const io::ReactorStats stats = thread->reactor().stats();
    list.push_back({{"connections", thread->connections()},
                    {"turns", stats.turns},
                    {"sleeps", stats.sleeps},
                    {"completions", stats.completions}});
  }
  return list;
}

// What every role has, and what it says of itself.
void add_role(json& members, const Server::HostedRole& hosted) {
  members["listen"] = texts_of(hosted.listening.addresses);
  members["procedures"] = procedures_of(hosted.role->rpc().table());
  members["replay_cache"] = replay_cache_of(hosted.role->rpc().replays());
  hosted.role->report(members);
}

}  // namespace

std::string status_json(const Server& server, base::TimePoint started) {
  const base::Duration uptime = server.clock().now() - started;
  json report{{"version", BRAID_VERSION},
              {"pid", ::getpid()},
              {"uptime_seconds", std::chrono::duration_cast<std::chrono::seconds>(uptime).count()},
              {"restrictions", restrictions()},
              {"rpcbind", server.rpcbind().accepted > 0},
              {"connections", server.connections()},
              {"rdma", rdma_of(server)},
              {"open_descriptors", metrics::open_descriptors()},
              {"exports", exports_of(server)},
              {"memory", memory_of(server)},
              {"blocking_pool", pool_of(server)},
              {"reactors", reactors_of(server)}};
  // The first role's members are the report's own; each other one has an object.
  for (const auto& hosted : server.roles())
    add_role(hosted->label.empty() ? report : report["roles"][hosted->label], *hosted);
  // Directory names may be no UTF-8.
  return report.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace braid::server::run
