#include "server/cli/status_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/quoting.h"
#include "server/cli/served_store.h"
#include "server/cli/text_table.h"
#include "server/config/units.h"
#include "server/export_set.h"

namespace braid::server::cli {
namespace {

using nlohmann::json;

std::string joined(const json& list) {
  std::string out;
  for (const json& item : list) {
    if (!out.empty()) out += ", ";
    out += item.get<std::string>();
  }
  return out;
}

std::uint64_t count(const json& object, const char* key) { return object.at(key).get<std::uint64_t>(); }
std::string count_text(const json& object, const char* key) { return std::to_string(count(object, key)); }

std::string share_text(std::uint64_t part, std::uint64_t rest) {
  if (part + rest == 0) return "-";
  return fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(part + rest));
}

// Squash, access and clients by one rule of an export.
std::vector<std::string> rule_cells(const json& rule, bool sync, std::string_view everybody) {
  const std::string clients = joined(rule.at("clients"));
  const std::string_view access = rule.at("read_only").get<bool>() ? "read-only" : sync ? "sync" : "no-sync";
  return {rule.at("squash").get<std::string>(), std::string(access),
          clients.empty() ? std::string(everybody) : clients};
}

// A line for each rule, in their order; the figures of the export are on the first one.
void add_export(std::vector<std::vector<std::string>>& rows, const json& e) {
  json rules = e.value("rules", json::array());
  const std::string_view everybody = rules.empty() ? "all" : "all others";
  rules.push_back(e);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    std::vector<std::string> row{"", ""};
    if (i == 0) row = {e.at("path").get<std::string>(), e.at("directory").get<std::string>()};
    for (std::string& cell : rule_cells(rules[i], e.at("sync").get<bool>(), everybody))
      row.push_back(std::move(cell));
    row.push_back(i == 0 ? count_text(e, "open_files") : "");
    row.push_back(i == 0 ? share_text(count(e, "handle_cache_hits"), count(e, "handle_cache_misses")) : "");
    rows.push_back(std::move(row));
  }
}

std::string exports_text(const json& report) {
  std::vector<std::vector<std::string>> rows{
      {"EXPORT", "DIRECTORY", "SQUASH", "ACCESS", "CLIENTS", "OPEN", "CACHE HITS"}};
  std::string notes;
  for (const json& e : report.at("exports")) {
    add_export(rows, e);
    if (const auto unavailable = e.value("unavailable", std::string()); !unavailable.empty())
      fmt::format_to(std::back_inserter(notes), "  {} is unavailable: {}\n",
                     base::printable(e.at("path").get<std::string>()), base::printable(unavailable));
    if (const auto held = e.value("held", std::string()); !held.empty())
      fmt::format_to(std::back_inserter(notes), "  {}: {}\n",
                     base::printable(e.at("path").get<std::string>()), held);
    for (const json& point : e.value("mounts_below", json::array()))
      fmt::format_to(
          std::back_inserter(notes), "  {}\n",
          base::printable(nested_mount_text(e.at("path").get<std::string>(), point.get<std::string>())));
    if (const auto restricted = e.at("restricted").get<std::string>(); !restricted.empty())
      fmt::format_to(std::back_inserter(notes), "  {}: {}\n",
                     base::printable(e.at("path").get<std::string>()), restricted);
  }
  return table_text(rows, 5) + notes;
}

std::string procedures_text(const json& report) {
  std::vector<std::vector<std::string>> rows{
      {"PROCEDURE", "CALLS", "ERRORS", "IN", "OUT", "MEAN us", "P99 us"}};
  for (const json& p : report.at("procedures")) {
    if (count(p, "calls") == 0) continue;
    rows.push_back(
        {fmt::format("{}{} {}", p.at("program").get<std::string>(), count(p, "version"),
                     p.at("procedure").get<std::string>()),
         count_text(p, "calls"), count_text(p, "errors"), config::bytes_text(count(p, "received_bytes")),
         config::bytes_text(count(p, "sent_bytes")), count_text(p, "mean_us"), count_text(p, "p99_us")});
  }
  return rows.size() == 1 ? "  No calls yet.\n" : table_text(rows, 1);
}

std::string operations_text(const json& report) {
  std::vector<std::vector<std::string>> rows{{"NFSv4 OPERATION", "CALLS", "ERRORS", "MEAN us", "P99 us"}};
  // Of a data server alone: its own.
  const json& from = report.contains("operations") ? report : report.at("data_server");
  for (const json& o : from.at("operations"))
    if (count(o, "calls") != 0)
      rows.push_back({o.at("operation").get<std::string>(), count_text(o, "calls"), count_text(o, "errors"),
                      count_text(o, "mean_us"), count_text(o, "p99_us")});
  return rows.size() == 1 ? "" : "\n" + table_text(rows, 1);
}

std::string nfs4_text(const json& nfs4) {
  std::string out =
      fmt::format("NFSv4 clients {}, courteous {}, sessions {}; opens {}, locks {}, delegations {}\n",
                  count(nfs4, "clients"), count(nfs4, "courteous_clients"), count(nfs4, "sessions"),
                  count(nfs4, "opens"), count(nfs4, "locks"), count(nfs4, "delegations"));
  if (nfs4.at("grace").get<bool>())
    fmt::format_to(std::back_inserter(out), "Grace period: {} left, {} clients have not reclaimed\n",
                   config::duration_text(count(nfs4, "grace_left_seconds")),
                   count(nfs4, "reclaiming_clients"));
  const json waiting = nfs4.value("reclaiming", json::array());
  for (const json& one : waiting)
    fmt::format_to(std::back_inserter(out), "  waiting for {}, {}\n",
                   base::printable(one.at("name").get<std::string>()),
                   one.at("sessions").get<bool>() ? "NFSv4.1 or later" : "NFSv4.0");
  if (nfs4.at("grace").get<bool>() && count(nfs4, "reclaiming_clients") != 0)
    out += "  To wait no longer: braid grace end (they lose what they held)\n";
  return out;
}

std::string data_server_text(const json& server) {
  return fmt::format("Data server {}: objects in {}, {} in use, {} fences; metadata server {} {}\n",
                     base::printable(server.at("name").get<std::string>()),
                     base::printable(server.at("directory").get<std::string>()),
                     count(server, "open_objects"), count(server, "fences"),
                     server.at("mds").get<std::string>(),
                     server.at("contact").get<bool>() ? "in contact" : "silent: no client is served");
}

// The names, and the ports that carry nothing: "mlx5_0, mlx5_1 (port 1 down)".
std::string devices_text(const json& devices) {
  json list = json::array();
  for (const json& device : devices) {
    auto text = device.at("device").get<std::string>();
    for (const json& port : device.at("ports"))
      if (const auto state = port.at("state").get<std::string>(); state != "active")
        fmt::format_to(std::back_inserter(text), " (port {} {})", count(port, "port"), state);
    list.push_back(text);
  }
  return joined(list);
}

std::string rdma_text(const json& rdma) {
  if (rdma.at("on").get<bool>())
    return fmt::format("RDMA port {} on {}: {} connections of {} credits, {} registered ({})\n",
                       count(rdma, "port"), devices_text(rdma.at("devices")), count(rdma, "connections"),
                       count(rdma, "credits"), config::bytes_text(count(rdma, "registered_bytes")),
                       rdma.at("registration").get<std::string>());
  const auto reason = rdma.at("reason").get<std::string>();
  return reason.empty() ? "" : fmt::format("RDMA is off: {}\n", reason);
}

std::string jobs_text(const json& pool) {
  std::string out;
  for (const auto& [reason, jobs] : pool.at("jobs").items())
    if (jobs.get<std::uint64_t>() != 0)
      fmt::format_to(std::back_inserter(out), " {} {}", reason, jobs.get<std::uint64_t>());
  return out.empty() ? " none" : out;
}

std::string report_text(const json& report) {
  const json& memory = report.at("memory");
  const json& replays = report.at("replay_cache");
  const json& pool = report.at("blocking_pool");
  std::string out = fmt::format("braid {}, pid {}, up {}\n", report.at("version").get<std::string>(),
                                count(report, "pid"), config::duration_text(count(report, "uptime_seconds")));
  const auto into = std::back_inserter(out);
  fmt::format_to(into, "Listening on {}{}\n", joined(report.at("listen")),
                 report.at("rpcbind").get<bool>() ? ", known to rpcbind" : "");
  fmt::format_to(into, "Connections {}, descriptors {}\n", count(report, "connections"),
                 count(report, "open_descriptors"));
  out += rdma_text(report.at("rdma"));
  fmt::format_to(into, "Memory {}; buffers {} in use of {} mapped, at most {}\n",
                 config::bytes_text(count(memory, "resident_bytes")),
                 config::bytes_text(count(memory, "buffer_bytes_used")),
                 config::bytes_text(count(memory, "buffer_bytes_mapped")),
                 config::bytes_text(count(memory, "buffer_bytes_max")));
  fmt::format_to(into, "Replay cache {} entries, {}, {} replays\n", count(replays, "entries"),
                 config::bytes_text(count(replays, "bytes")),
                 count(replays, "hits") + count(replays, "running_hits"));
  fmt::format_to(into, "Blocking pool {} threads, {} queued, {} refused; jobs:{}\n", count(pool, "threads"),
                 count(pool, "queued"), count(pool, "refused"), jobs_text(pool));
  for (const json& restriction : report.value("restrictions", json::array()))
    fmt::format_to(into, "Note: {}\n", base::printable(restriction.get<std::string>()));
  if (report.contains("nfs4")) out += nfs4_text(report.at("nfs4"));
  for (const json& store : report.value("stores", json::array())) out += store_text(store);
  if (report.contains("hashing")) out += hashing_text(report.at("hashing"));
  if (report.contains("data_server")) out += data_server_text(report.at("data_server"));
  if (report.contains("roles"))
    for (const json& role : report.at("roles"))
      if (role.contains("data_server")) out += data_server_text(role.at("data_server"));
  return out + "\n" + exports_text(report) + "\n" + procedures_text(report) + operations_text(report);
}

}  // namespace

std::optional<std::string> status_table(std::string_view text) {
  constexpr bool no_exceptions = false;
  const json report = json::parse(text, nullptr, no_exceptions);
  if (!report.is_object()) return std::nullopt;
  try {
    return report_text(report);
  } catch (const json::exception&) {  // a member is missing or of another type
    return std::nullopt;
  }
}

}  // namespace braid::server::cli
