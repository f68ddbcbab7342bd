#include "server/roles/stores/store_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace braid::server::roles::stores {
namespace {

using nlohmann::json;

std::string text_of(const json& answer) {
  return answer.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string begin_job(const std::vector<ServedStore>& stores, const admin::AdminRequest& request,
                      bool unseals) {
  if (request.path.empty()) return admin::admin_error("the request has no \"path\"");
  const auto found =
      std::ranges::find_if(stores, [&](const ServedStore& one) { return one.worker->has(request.path); });
  if (found == stores.end())
    return admin::admin_error(fmt::format("{} lies in no export that has a store", request.path));
  const auto begun = found->worker->begin(request.path, unseals);
  if (!begun) return admin::admin_error(begun.error());
  return text_of({{"store", found->name}, {"job", fmt::format("{}/{}", found->name, *begun)}});
}

json members_of(const SealJob& job) {
  return {{"path", job.path},       {"unseals", job.unseals},       {"running", job.running},
          {"ended", job.ended},     {"files", job.files},           {"bytes", job.bytes},
          {"done", job.done},       {"done_bytes", job.done_bytes}, {"small", job.small},
          {"already", job.already}, {"in_use", job.in_use},         {"failed", job.failed}};
}

// "NAME/NUMBER"; a name may have slashes.
std::string look_at_job(const std::vector<ServedStore>& stores, const std::string& job) {
  const std::size_t slash = job.rfind('/');
  std::uint64_t number = 0;
  std::optional<SealJob> found;
  if (slash != std::string::npos) {
    std::from_chars(job.data() + slash + 1, job.data() + job.size(), number);
    for (const ServedStore& one : stores)
      if (one.name == job.substr(0, slash)) found = one.worker->job(number);
  }
  if (!found) return admin::admin_error("there is no such job any more; \"from\" is what its beginning said");
  return text_of(members_of(*found));
}

double number(std::uint64_t value) { return static_cast<double>(value); }

}  // namespace

std::vector<admin::AdminCommand> store_commands(const std::vector<ServedStore>& stores) {
  using Request = const admin::AdminRequest&;
  return {{seal_command,
           [stores](Request request) -> io::Op<std::string> { return begin_job(stores, request, false); }},
          {unseal_command,
           [stores](Request request) -> io::Op<std::string> { return begin_job(stores, request, true); }},
          {job_command,
           [stores](Request request) -> io::Op<std::string> { return look_at_job(stores, request.from); }}};
}

void add_store(json& report, const std::string& name, store::Store& store, const StoreWorker& worker) {
  const store::ChunkCounts chunks = store.chunks().counts();
  const WorkerCounts counts = worker.counts();
  report["stores"].push_back({{"name", name},
                              {"directory", store.directory()},
                              {"writable", store.writable()},
                              {"registry", store.registry() != nullptr},
                              {"stored_bytes", store.containers().bytes().value_or(0)},
                              {"chunks_added", chunks.chunks_added},
                              {"bytes_added", chunks.bytes_added},
                              {"chunks_found", chunks.chunks_found},
                              {"bytes_found", chunks.bytes_found},
                              {"mismatches", chunks.mismatches},
                              {"files_sealed", counts.sealed},
                              {"bytes_sealed", counts.sealed_bytes},
                              {"files_unsealed", counts.unsealed},
                              {"seals_failed", counts.failed},
                              {"seals_put_off", counts.put_off},
                              {"files_waiting", counts.resting.waiting},
                              {"files_forgotten", counts.resting.forgotten}});
}

void register_metrics(base::MetricRegistry& metrics, const std::string& name, store::Store& store,
                      const StoreWorker& worker) {
  const std::string label = fmt::format("store=\"{}\"", base::escaped_label(name));
  const auto chunk = [&](const char* metric, const char* help, std::uint64_t store::ChunkCounts::* member) {
    metrics.counter_function(metric, help, label,
                             [&store, member] { return number(store.chunks().counts().*member); });
  };
  using store::ChunkCounts;
  chunk("braid_store_chunks_added_total", "Chunks that were not in the store", &ChunkCounts::chunks_added);
  chunk("braid_store_bytes_added_total", "What they took in containers", &ChunkCounts::bytes_added);
  chunk("braid_store_chunks_found_total", "Chunks that were in the store already",
        &ChunkCounts::chunks_found);
  chunk("braid_store_bytes_found_total", "Their bytes", &ChunkCounts::bytes_found);
  chunk("braid_store_mismatches_total", "Places where another chunk was than was looked for",
        &ChunkCounts::mismatches);
  const auto count = [&](const char* metric, const char* help, std::uint64_t WorkerCounts::* member) {
    metrics.counter_function(metric, help, label,
                             [&worker, member] { return number(worker.counts().*member); });
  };
  count("braid_store_files_sealed_total", "Files that were sealed by this process", &WorkerCounts::sealed);
  count("braid_store_bytes_sealed_total", "Their sizes", &WorkerCounts::sealed_bytes);
  count("braid_store_files_unsealed_total", "Files that got their bytes back", &WorkerCounts::unsealed);
  count("braid_store_seals_failed_total", "Files that could not be sealed; the log says why",
        &WorkerCounts::failed);
  count("braid_store_seals_put_off_total", "Times that a file was in use or changed when it was to be sealed",
        &WorkerCounts::put_off);
  metrics.gauge("braid_store_files_waiting", "Files that were written to and wait to be sealed", label,
                [&worker] { return number(worker.counts().resting.waiting); });
  metrics.counter_function("braid_store_files_forgotten_total",
                           "Files that will not be sealed for want of room in memory", label,
                           [&worker] { return number(worker.counts().resting.forgotten); });
}

}  // namespace braid::server::roles::stores
