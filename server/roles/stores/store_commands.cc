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

json members_of(const CollectionState& state) {
  const store::GcReport& report = state.report;
  return {{"running", state.running},
          {"ended", state.ended},
          {"marks", state.marks},
          {"files", state.files},
          {"removed", state.removed},
          {"removed_bytes", report.removed_bytes},
          {"rewritten", state.rewritten},
          {"moved_bytes", report.moved_bytes},
          {"live_bytes", report.live_bytes},
          {"garbage_bytes", report.garbage_bytes},
          {"waiting_bytes", report.waiting_bytes},
          {"stopped", report.stopped},
          {"alarm", report.alarm}};
}

json members_of(const ScrubPass& pass) {
  return {
      {"running", pass.running},        {"ended", pass.ended},        {"containers", pass.report.containers},
      {"chunks", pass.report.chunks},   {"bytes", pass.report.bytes}, {"bad", pass.report.bad},
      {"stopped", pass.report.stopped}, {"alarm", pass.report.alarm}};
}

// By its name or its directory; the only one has neither to be told.
std::expected<const ServedStore*, std::string> store_of(const std::vector<ServedStore>& stores,
                                                        const std::string& wanted) {
  std::string names;
  for (const ServedStore& one : stores) {
    if (one.name == wanted || one.store->directory() == wanted) return &one;
    names += (names.empty() ? "" : ", ") + one.name;
  }
  if (wanted.empty() && stores.size() == 1) return &stores.front();
  return std::unexpected(wanted.empty() ? fmt::format("there are several stores, tell which one: {}", names)
                                        : fmt::format("there is no store {}, only {}", wanted, names));
}

// The jobs of a store's upkeep have these words before their numbers.
constexpr std::string_view collection_word = "gc-", scrub_word = "scrub-";

using BeginUpkeep = std::expected<std::uint64_t, std::string> (Upkeep::*)();

std::string begin_upkeep(const std::vector<ServedStore>& stores, const admin::AdminRequest& request,
                         BeginUpkeep begin, std::string_view word) {
  const auto found = store_of(stores, request.path);
  if (!found) return admin::admin_error(found.error());
  const auto begun = ((*found)->upkeep->*begin)();
  if (!begun) return admin::admin_error(begun.error());
  return text_of({{"store", (*found)->name}, {"job", fmt::format("{}/{}{}", (*found)->name, word, *begun)}});
}

template <class T>
std::optional<json> members_if(const std::optional<T>& found) {
  return found ? std::optional(members_of(*found)) : std::nullopt;
}

std::uint64_t number_in(std::string_view job, std::string_view word) {
  std::uint64_t out = 0;
  std::from_chars(job.data() + word.size(), job.data() + job.size(), out);
  return out;
}

std::optional<json> job_of(const ServedStore& store, std::string_view job) {
  if (job.starts_with(collection_word))
    return members_if(store.upkeep->collection(number_in(job, collection_word)));
  if (job.starts_with(scrub_word)) return members_if(store.upkeep->scrub_pass(number_in(job, scrub_word)));
  return members_if(store.worker->job(number_in(job, "")));
}

// "NAME/JOB"; a name may have slashes.
std::string look_at_job(const std::vector<ServedStore>& stores, const std::string& job) {
  const std::size_t slash = job.rfind('/');
  std::optional<json> found;
  for (const ServedStore& one : stores)
    if (slash != std::string::npos && one.name == job.substr(0, slash))
      found = job_of(one, std::string_view(job).substr(slash + 1));
  if (!found) return admin::admin_error("there is no such job any more; \"from\" is what its beginning said");
  return text_of(*found);
}

double number(std::uint64_t value) { return static_cast<double>(value); }

}  // namespace

std::vector<admin::AdminCommand> store_commands(const std::vector<ServedStore>& stores) {
  using Request = const admin::AdminRequest&;
  return {{seal_command,
           [stores](Request request) -> io::Op<std::string> { return begin_job(stores, request, false); }},
          {unseal_command,
           [stores](Request request) -> io::Op<std::string> { return begin_job(stores, request, true); }},
          {gc_command,
           [stores](Request request) -> io::Op<std::string> {
             return begin_upkeep(stores, request, &Upkeep::collect, collection_word);
           }},
          {scrub_command,
           [stores](Request request) -> io::Op<std::string> {
             return begin_upkeep(stores, request, &Upkeep::scrub, scrub_word);
           }},
          {job_command,
           [stores](Request request) -> io::Op<std::string> { return look_at_job(stores, request.from); }}};
}

namespace {

json members_of(const UpkeepCounts& counts) {
  return {{"running", counts.collecting},
          {"collections", counts.collections},
          {"alarm", counts.alarm},
          {"live_bytes", counts.live_bytes},
          {"garbage_bytes", counts.garbage_bytes},
          {"waiting_bytes", counts.waiting_bytes},
          {"containers_removed", counts.containers_removed},
          {"bytes_removed", counts.bytes_removed},
          {"containers_rewritten", counts.containers_rewritten},
          {"bytes_moved", counts.bytes_moved}};
}

json members_of(const ScrubCounts& counts) {
  return {{"running", counts.running}, {"passes", counts.passes},     {"bytes", counts.bytes},
          {"bad_places", counts.bad},  {"ended_at", counts.ended_at}, {"alarm", counts.alarm}};
}

void register_scrub_metrics(base::MetricRegistry& metrics, const std::string& label, const Upkeep& upkeep) {
  const auto figure = [&upkeep](std::uint64_t ScrubCounts::* member) {
    return [&upkeep, member] { return number(upkeep.scrub_counts().*member); };
  };
  metrics.counter_function("braid_store_scrub_passes_total", "Times that all chunks have been read", label,
                           figure(&ScrubCounts::passes));
  metrics.counter_function("braid_store_scrub_bytes_total", "Bytes of chunks that were read to find damage",
                           label, figure(&ScrubCounts::bytes));
  metrics.gauge("braid_store_bad_places", "Places in containers that are known to be damaged", label,
                figure(&ScrubCounts::bad));
  metrics.gauge("braid_store_scrub_ended_seconds", "When all chunks had been read last, since 1970; 0: never",
                label, figure(&ScrubCounts::ended_at));
}

void register_upkeep_metrics(base::MetricRegistry& metrics, const std::string& label, const Upkeep& upkeep) {
  const auto count = [&](const char* metric, const char* help, std::uint64_t UpkeepCounts::* member) {
    metrics.counter_function(metric, help, label,
                             [&upkeep, member] { return number(upkeep.counts().*member); });
  };
  count("braid_store_gc_total", "Garbage collections that have ended", &UpkeepCounts::collections);
  count("braid_store_gc_alarms_total",
        "Garbage collections that could not look at everything, and removed nothing", &UpkeepCounts::alarms);
  count("braid_store_containers_removed_total", "Containers that were garbage",
        &UpkeepCounts::containers_removed);
  count("braid_store_bytes_removed_total", "Their bytes", &UpkeepCounts::bytes_removed);
  count("braid_store_containers_rewritten_total", "Containers that were in use in part",
        &UpkeepCounts::containers_rewritten);
  count("braid_store_bytes_moved_total", "What was in use of them", &UpkeepCounts::bytes_moved);
  const auto gauge = [&](const char* metric, const char* help, std::uint64_t UpkeepCounts::* member) {
    metrics.gauge(metric, help, label, [&upkeep, member] { return number(upkeep.counts().*member); });
  };
  gauge("braid_store_live_bytes",
        "Bytes in containers that files refer to, as of the last garbage collection",
        &UpkeepCounts::live_bytes);
  gauge("braid_store_garbage_bytes", "Bytes in containers that no file refers to, as of the last one",
        &UpkeepCounts::garbage_bytes);
  metrics.gauge("braid_store_gc_alarm", "1: the last one could not look at everything; the log says why",
                label, [&upkeep] { return upkeep.counts().alarm.empty() ? 0.0 : 1.0; });
}

}  // namespace

void add_store(json& report, const ServedStore& served) {
  store::Store& store = *served.store;
  const store::ChunkCounts chunks = store.chunks().counts();
  const WorkerCounts counts = served.worker->counts();
  report["stores"].push_back({{"name", served.name},
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
                              {"files_forgotten", counts.resting.forgotten},
                              {"gc", members_of(served.upkeep->counts())},
                              {"scrub", members_of(served.upkeep->scrub_counts())}});
}

void register_metrics(base::MetricRegistry& metrics, const ServedStore& served) {
  const std::string label = fmt::format("store=\"{}\"", base::escaped_label(served.name));
  store::Store& store = *served.store;
  const StoreWorker& worker = *served.worker;
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
  register_upkeep_metrics(metrics, label, *served.upkeep);
  register_scrub_metrics(metrics, label, *served.upkeep);
}

}  // namespace braid::server::roles::stores
