#include "server/metrics/server_metrics.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include "server/server.h"

namespace braid::server::metrics {
namespace {

template <class T>
double number(T value) {
  return static_cast<double>(value);
}

void register_process(base::MetricRegistry& metrics, base::WallTime started) {
  const double seconds = std::chrono::duration<double>(started.time_since_epoch()).count();
  metrics.gauge("braid_build_info", "Version of this server", "version=\"" BRAID_VERSION "\"",
                [] { return 1.0; });
  metrics.gauge("process_start_time_seconds", "Start of this process, in seconds since 1970", "",
                [seconds] { return seconds; });
  metrics.gauge("process_resident_memory_bytes", "Memory that this process holds", "",
                [] { return number(resident_bytes()); });
  metrics.gauge("process_open_fds", "Descriptors that this process has open", "",
                [] { return number(open_descriptors()); });
}

void register_memory(base::MetricRegistry& metrics, Server& server) {
  const io::SlabPool& slabs = server.slabs();
  metrics.gauge("braid_slab_bytes", "Memory for payload, records and replies", "state=\"max\"",
                [&slabs] { return number(slabs.stats().bytes_max); });
  metrics.gauge("braid_slab_bytes", "", "state=\"mapped\"",
                [&slabs] { return number(slabs.stats().bytes_mapped); });
  metrics.gauge("braid_slab_bytes", "", "state=\"used\"",
                [&slabs] { return number(slabs.stats().bytes_used); });
  metrics.counter_function("braid_slab_exhausted_total", "Requests for a slab that were refused", "",
                           [&slabs] { return number(slabs.stats().exhausted); });
  for (const auto& hosted : server.roles())
    hosted->metrics.gauge("braid_rpc_admitted_bytes",
                          "Memory that calls in progress and unsent replies may take", "",
                          [&rpc = hosted->role->rpc()] { return number(rpc.budget().used()); });
}

void register_pool(base::MetricRegistry& metrics, const io::BlockingPool& pool) {
  for (std::size_t i = 0; i < io::blocking_reasons; ++i)
    metrics.counter_function("braid_blocking_jobs_total", "System calls that were given to the blocking pool",
                             fmt::format("reason=\"{}\"", io::name_of(static_cast<io::BlockingReason>(i))),
                             [&pool, i] { return number(pool.stats().jobs.at(i)); });
  metrics.gauge("braid_blocking_queued", "Jobs that wait for a thread of the blocking pool", "",
                [&pool] { return number(pool.stats().queued); });
  metrics.gauge("braid_blocking_threads", "Threads of the blocking pool", "",
                [&pool] { return number(pool.stats().threads); });
  metrics.counter_function("braid_blocking_refused_total", "Jobs refused because the queue was full", "",
                           [&pool] { return number(pool.stats().refused); });
}

void register_reactors(base::MetricRegistry& metrics, Server& server) {
  for (std::size_t i = 0; i < server.threads().size(); ++i) {
    const ServerThread& thread = *server.threads()[i];
    const std::string label = fmt::format("reactor=\"{}\"", i);
    metrics.gauge("braid_connections", "Open connections of clients", label,
                  [&thread] { return number(thread.connections()); });
    metrics.gauge("braid_connections_made", "Open connections that the server has made, to call clients back",
                  label, [&thread] { return number(thread.connections_made()); });
    metrics.counter_function("braid_reactor_turns_total", "Turns of the event loop", label,
                             [&thread] { return number(thread.reactor().stats().turns); });
    metrics.counter_function("braid_reactor_sleeps_total", "Turns that waited in the kernel", label,
                             [&thread] { return number(thread.reactor().stats().sleeps); });
    metrics.counter_function("braid_reactor_completions_total", "Completions of the ring", label,
                             [&thread] { return number(thread.reactor().stats().completions); });
  }
}

// The sum of one number over the exports: those come and go at a reload, so they have no series of their own.
void add_export_sum(Server& server, std::string_view name, std::string_view help,
                    double (*value)(const vfs::posix::PosixStats&)) {
  server.metrics().gauge(name, help, "", [&server, value] {
    double sum = 0;
    for (const ExportSet::Entry& entry : server.exports().entries())
      if (entry.file_system != nullptr) sum += value(entry.file_system->stats());
    return sum;
  });
}

// Of the export that has most.
void register_lock_entries(Server& server) {
  server.metrics().gauge(
      "braid_lock_entries_max",
      "Byte-range locks that were looked at, in one go, by the call of a file system that looked at most, "
      "since the last reload",
      "", [&server] {
        std::uint64_t most = 0;
        for (const ExportSet::Entry& entry : server.exports().entries())
          if (entry.file_system != nullptr)
            most = std::max(most, entry.file_system->stats().lock_entries_max);
        return number(most);
      });
}

void register_exports(Server& server) {
  server.metrics().gauge("braid_exports", "Exports of the configuration", "",
                         [&server] { return number(server.exports().entries().size()); });
  server.metrics().gauge(
      "braid_exports_unavailable", "Exports whose directory is not there, or not the one that it was", "",
      [&server] {
        return number(std::ranges::count_if(server.exports().entries(),
                                            [](const auto& entry) { return !entry.unavailable.empty(); }));
      });
  using Stats = vfs::posix::PosixStats;
  add_export_sum(server, "braid_open_files", "Descriptors that the handle caches hold",
                 [](const Stats& s) { return number(s.cache.descriptors); });
  add_export_sum(server, "braid_handle_cache_hits", "Handles found open, since the last reload",
                 [](const Stats& s) { return number(s.cache.hits); });
  add_export_sum(server, "braid_handle_cache_misses", "Handles that had to be opened, since the last reload",
                 [](const Stats& s) { return number(s.cache.misses); });
  add_export_sum(server, "braid_handle_cache_evictions",
                 "Descriptors given up to make room, since the last reload",
                 [](const Stats& s) { return number(s.cache.evicted); });
  add_export_sum(server, "braid_parked_files", "Files that are open, and have given their descriptors back",
                 [](const Stats& s) { return number(s.cache.parked); });
  add_export_sum(server, "braid_parkings",
                 "Open files that gave their descriptors back, since the last reload",
                 [](const Stats& s) { return number(s.cache.parkings); });
  add_export_sum(server, "braid_descriptor_shortages",
                 "Times that no descriptor could be had, since the last reload",
                 [](const Stats& s) { return number(s.cache.too_many_open_files); });
  add_export_sum(
      server, "braid_nameless_files_refused",
      "Last names of open files that were not removed for want of descriptors, since the last reload",
      [](const Stats& s) { return number(s.cache.nameless_refused); });
  add_export_sum(server, "braid_inline_stalls",
                 "Calls that blocked a reactor too long, since the last reload",
                 [](const Stats& s) { return number(s.stalls); });
  register_lock_entries(server);
}

}  // namespace

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total_pages = 0, resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t open_descriptors() {
  std::error_code unreadable;
  const std::filesystem::directory_iterator entries("/proc/self/fd", unreadable);
  if (unreadable) return 0;
  const auto count = std::distance(std::filesystem::begin(entries), std::filesystem::end(entries));
  return static_cast<std::uint64_t>(count) - 1;  // without the one that lists them
}

void register_metrics(Server& server, base::WallTime started) {
  register_process(server.metrics(), started);
  register_memory(server.metrics(), server);
  register_pool(server.metrics(), server.pool());
  register_reactors(server.metrics(), server);
  register_exports(server);
}

}  // namespace braid::server::metrics
