#include "bench/load/report.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

namespace braid::load {

namespace {

struct Quantile {
  const char* name;
  double fraction;
};
constexpr std::array<Quantile, 5> quantiles{
    {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}}};

double seconds_of(base::Duration duration) { return std::chrono::duration<double>(duration).count(); }
double microseconds_of(base::Duration duration) { return seconds_of(duration) * 1e6; }
double per(double amount, double count) { return count > 0 ? amount / count : 0; }

std::uint64_t bytes_of(const Report& report) {
  std::uint64_t sum = 0;
  for (const Tally& tally : report.tallies) sum += tally.bytes;
  return sum;
}

std::string latency_json(const Histogram& latency) {
  std::string text = fmt::format("{{\"mean\": {:.2f}, \"min\": {:.2f}", microseconds_of(latency.mean()),
                                 microseconds_of(latency.min()));
  for (const Quantile& q : quantiles)
    fmt::format_to(std::back_inserter(text), ", \"{}\": {:.2f}", q.name,
                   microseconds_of(latency.quantile(q.fraction)));
  return text + fmt::format(", \"max\": {:.2f}}}", microseconds_of(latency.max()));
}

std::string tally_json(const Tally& tally) {
  std::string failures;
  for (const auto& [status, count] : tally.failures)
    fmt::format_to(std::back_inserter(failures), "{}\"{}\": {}", failures.empty() ? "" : ", ", status, count);
  return fmt::format(
      "{{\"calls\": {}, \"bytes\": {}, \"entries\": {}, \"failures\": {{{}}}, \"latency_us\": {}}}",
      tally.latency.count(), tally.bytes, tally.entries, failures, latency_json(tally.latency));
}

// CPU time per GB (10^9 bytes) is only told where file data was moved.
std::string cost_json(const Cost& cost, const Report& report) {
  const auto calls = static_cast<double>(report.calls());
  const auto bytes = static_cast<double>(bytes_of(report));
  std::string text = fmt::format(
      "{{\"cpu_s\": {:.6f}, \"cpu_us_per_call\": {:.4f}, \"system_share\": {:.3f}, \"rss_bytes\": {}, "
      "\"rss_bytes_max\": {}",
      seconds_of(cost.cpu), per(microseconds_of(cost.cpu), calls), cost.system_share, cost.rss_bytes,
      cost.rss_bytes_max);
  if (bytes > 0) text += fmt::format(", \"cpu_s_per_gb\": {:.5f}", seconds_of(cost.cpu) / bytes * 1e9);
  if (cost.allocations)
    text +=
        fmt::format(", \"allocations_per_call\": {:.4f}", per(static_cast<double>(*cost.allocations), calls));
  return text + "}";
}

std::string cost_line(std::string_view who, const Cost& cost, const Report& report) {
  const auto calls = static_cast<double>(report.calls());
  std::string text = fmt::format("{}: CPU {:.2f} us per call ({:.0f} % in the kernel)", who,
                                 per(microseconds_of(cost.cpu), calls), cost.system_share * 100);
  if (const std::uint64_t bytes = bytes_of(report); bytes > 0)
    text += fmt::format(", {:.3f} s per GB", seconds_of(cost.cpu) / static_cast<double>(bytes) * 1e9);
  text += fmt::format(", {:.0f} % of a core, RSS {:.1f} MB",
                      per(seconds_of(cost.cpu), seconds_of(report.elapsed)) * 100,
                      static_cast<double>(cost.rss_bytes) / 1e6);
  if (cost.allocations)
    text += fmt::format(", {:.3f} allocations per call", per(static_cast<double>(*cost.allocations), calls));
  return text + "\n";
}

std::string latency_line(std::string_view name, const Histogram& latency, std::uint64_t bytes,
                         double seconds) {
  std::string text =
      fmt::format("{:<12}{:>10.0f}{:>10.1f}{:>10.1f}", name, static_cast<double>(latency.count()) / seconds,
                  static_cast<double>(bytes) / seconds / 1e6, microseconds_of(latency.mean()));
  for (const Quantile& q : quantiles)
    fmt::format_to(std::back_inserter(text), "{:>10.1f}", microseconds_of(latency.quantile(q.fraction)));
  return text + fmt::format("{:>10.1f}\n", microseconds_of(latency.max()));
}

std::string tally_line(Operation operation, const Tally& tally, double seconds) {
  std::string text = latency_line(name_of(operation), tally.latency, tally.bytes, seconds);
  for (const auto& [status, count] : tally.failures)
    fmt::format_to(std::back_inserter(text), "    failed with {}: {}\n", status, count);
  return text;
}

}  // namespace

std::uint64_t Tally::failed() const {
  std::uint64_t sum = 0;
  for (const auto& [status, count] : failures) sum += count;
  return sum;
}

Cost cost_between(const ProcessReading& before, const ProcessReading& after) {
  Cost cost;
  cost.cpu = after.cpu - before.cpu;
  const std::uint64_t system = after.system_ticks - before.system_ticks;
  const std::uint64_t user = after.user_ticks - before.user_ticks;
  cost.system_share = per(static_cast<double>(system), static_cast<double>(system + user));
  cost.rss_bytes = after.rss_bytes;
  cost.rss_bytes_max = after.rss_bytes_max;
  if (before.allocations && after.allocations) cost.allocations = *after.allocations - *before.allocations;
  return cost;
}

std::uint64_t Report::calls() const {
  std::uint64_t sum = 0;
  for (const Tally& tally : tallies) sum += tally.latency.count();
  return sum;
}

std::uint64_t Report::failed() const {
  std::uint64_t sum = 0;
  for (const Tally& tally : tallies) sum += tally.failed();
  return sum;
}

std::string table_of(const Report& report, const Options& options) {
  const double seconds = seconds_of(report.elapsed);
  std::string text = fmt::format("NFS {}: {} calls in {:.2f} s, {} connections, depth {}{}\n",
                                 name_of(options.nfs), report.calls(), seconds, options.connections,
                                 options.depth, report.ran_out ? ", ended when no file was left" : "");
  if (options.rate > 0)
    text +=
        fmt::format("open loop at {:.0f}/s: latency counts from when a call was due; {} calls started late\n",
                    options.rate, report.late);
  if (report.delayed > 0) text += fmt::format("{} calls repeated, as the server asked\n", report.delayed);
  text += fmt::format("{:<12}{:>10}{:>10}{:>10}", "operation", "calls/s", "MB/s", "mean us");
  for (const Quantile& q : quantiles) text += fmt::format("{:>10}", q.name);
  text += fmt::format("{:>10}\n", "max");
  for (std::size_t i = 0; i < operation_count; ++i) {
    const Tally& tally = report.tallies[i];
    if (tally.latency.count() + tally.failed() > 0)
      text += tally_line(static_cast<Operation>(i), tally, seconds);
  }
  if (report.commits.count() > 0) text += latency_line("COMMIT", report.commits, 0, seconds);
  for (const Cost& server : report.servers) text += cost_line("server", server, report);
  return text + cost_line("client", report.client, report);
}

std::string json_of(const Report& report, const Options& options) {
  const double seconds = seconds_of(report.elapsed);
  Histogram all;
  std::string operations;
  for (std::size_t i = 0; i < operation_count; ++i) {
    const Tally& tally = report.tallies[i];
    if (tally.latency.count() + tally.failed() == 0) continue;
    all.merge(tally.latency);
    fmt::format_to(std::back_inserter(operations), "{}\"{}\": {}", operations.empty() ? "" : ", ",
                   name_of(static_cast<Operation>(i)), tally_json(tally));
  }
  std::string text = fmt::format(
      "{{\"nfs\": \"{}\", \"seconds\": {:.4f}, \"connections\": {}, \"depth\": {}, \"size\": {}, \"rate\": "
      "{:.1f}, "
      "\"late\": {}, \"delayed\": {}, \"ran_out\": {}, \"calls\": {}, \"failed\": {}, \"calls_per_s\": "
      "{:.1f}, \"bytes_per_s\": {:.1f}, "
      "\"latency_us\": {}, \"operations\": {{{}}}, \"client\": {}",
      name_of(options.nfs), seconds, options.connections, options.depth, options.size, options.rate,
      report.late, report.delayed, report.ran_out, report.calls(), report.failed(),
      static_cast<double>(report.calls()) / seconds, static_cast<double>(bytes_of(report)) / seconds,
      latency_json(all), operations, cost_json(report.client, report));
  if (report.commits.count() > 0) text += ", \"commit_us\": " + latency_json(report.commits);
  if (!report.servers.empty()) text += ", \"server\": " + cost_json(report.servers.front(), report);
  if (report.servers.size() > 1) {
    std::string each;
    for (const Cost& server : report.servers) each += (each.empty() ? "" : ", ") + cost_json(server, report);
    text += ", \"servers\": [" + each + "]";
  }
  return text + "}\n";
}

}  // namespace braid::load
