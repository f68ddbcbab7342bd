#include "server/roles/stores/store_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "server/roles/stores/figures.h"

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
          {"entries_dropped", report.entries_dropped},
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
  const auto found = store.worker->job(number_in(job, ""));
  auto out = members_if(found);
  // Before that nothing is sealed.
  if (out && !found->unseals)
    (*out)["index_containers_left"] = store.store->chunks().index_filler().progress().left;
  return out;
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

using store::ChunkCounts;

constexpr std::array<Figure<ChunkCounts>, 5> chunk_figures{{
    {&ChunkCounts::chunks_added, "chunks_added", "braid_store_chunks_added_total",
     "Chunks that were not in the store"},
    {&ChunkCounts::bytes_added, "bytes_added", "braid_store_bytes_added_total",
     "What they took in containers"},
    {&ChunkCounts::chunks_found, "chunks_found", "braid_store_chunks_found_total",
     "Chunks that were in the store already"},
    {&ChunkCounts::bytes_found, "bytes_found", "braid_store_bytes_found_total", "Their bytes"},
    {&ChunkCounts::mismatches, "mismatches", "braid_store_mismatches_total",
     "Places where another chunk was than was looked for"},
}};

constexpr std::array<Figure<WorkerCounts>, 5> worker_figures{{
    {&WorkerCounts::sealed, "files_sealed", "braid_store_files_sealed_total",
     "Files that were sealed by this process"},
    {&WorkerCounts::sealed_bytes, "bytes_sealed", "braid_store_bytes_sealed_total",
     "Bytes of theirs that went into the store"},
    {&WorkerCounts::unsealed, "files_unsealed", "braid_store_files_unsealed_total",
     "Files that got their bytes back"},
    {&WorkerCounts::failed, "seals_failed", "braid_store_seals_failed_total",
     "Files that could not be sealed; the log says why"},
    {&WorkerCounts::put_off, "seals_put_off", "braid_store_seals_put_off_total",
     "Times that a file was in use or changed when it was to be sealed"},
}};

constexpr std::array<Figure<UpkeepCounts>, 9> upkeep_figures{{
    {&UpkeepCounts::collections, "collections", "braid_store_gc_total",
     "Garbage collections that have ended"},
    {&UpkeepCounts::alarms, "alarms", "braid_store_gc_alarms_total",
     "Garbage collections that could not look at everything, and removed nothing"},
    {&UpkeepCounts::containers_removed, "containers_removed", "braid_store_containers_removed_total",
     "Containers that were garbage"},
    {&UpkeepCounts::bytes_removed, "bytes_removed", "braid_store_bytes_removed_total", "Their bytes"},
    {&UpkeepCounts::containers_rewritten, "containers_rewritten", "braid_store_containers_rewritten_total",
     "Containers that were in use in part"},
    {&UpkeepCounts::bytes_moved, "bytes_moved", "braid_store_bytes_moved_total", "What was in use of them"},
    {&UpkeepCounts::live_bytes, "live_bytes", "braid_store_live_bytes",
     "Bytes in containers that files refer to, as of the last garbage collection", FigureKind::gauge},
    {&UpkeepCounts::garbage_bytes, "garbage_bytes", "braid_store_garbage_bytes",
     "Bytes in containers that no file refers to, as of the last one", FigureKind::gauge},
    {&UpkeepCounts::waiting_bytes, "waiting_bytes", "braid_store_waiting_bytes",
     "Those of them that go when they have been kept long enough", FigureKind::gauge},
}};

constexpr std::array<Figure<ScrubCounts>, 4> scrub_figures{{
    {&ScrubCounts::passes, "passes", "braid_store_scrub_passes_total",
     "Times that all chunks have been read"},
    {&ScrubCounts::bytes, "bytes", "braid_store_scrub_bytes_total",
     "Bytes of chunks that were read to find damage"},
    {&ScrubCounts::bad, "bad_places", "braid_store_bad_places",
     "Places in containers that are known to be damaged", FigureKind::gauge},
    {&ScrubCounts::ended_at, "ended_at", "braid_store_scrub_ended_seconds",
     "When all chunks had been read last, since 1970; 0: never", FigureKind::gauge},
}};

using store::WindowCounts;

constexpr std::array<Figure<WindowCounts>, 6> window_figures{{
    {&WindowCounts::taken_bytes, "windowed_bytes", "braid_store_windowed_bytes_total",
     "Bytes of streams that came into windows"},
    {&WindowCounts::sealed_bytes, "window_sealed_bytes", "braid_store_window_sealed_bytes_total",
     "Bytes that went from windows into the store"},
    {&WindowCounts::spilled_bytes, "spilled_bytes", "braid_store_spilled_bytes_total",
     "Bytes that went from windows to the files, to be sealed later"},
    {&WindowCounts::lost_bytes, "window_lost_bytes", "braid_store_window_lost_bytes_total",
     "Bytes of windows that neither could keep: clients write them once more"},
    {&WindowCounts::held_bytes, "window_held_bytes", "braid_store_window_held_bytes",
     "Buffers that windows hold", FigureKind::gauge},
    {&WindowCounts::windows, "windows", "braid_store_windows", "Files that have a window", FigureKind::gauge},
}};

using GuardCounts = store::OpenGuard::Counts;

constexpr std::array<Figure<GuardCounts>, 2> guard_figures{{
    {&GuardCounts::asked, "opens_asked", "braid_store_guard_asked_total",
     "Files that anybody on this machine has opened on the file systems of the exports"},
    {&GuardCounts::refused, "opens_refused", "braid_store_guard_refused_total",
     "Of them those that were sealed, and opened by another program"},
}};

json members_of(const UpkeepCounts& counts) {
  json out = {{"running", counts.collecting}, {"alarm", counts.alarm}};
  add_figures<UpkeepCounts>(out, upkeep_figures, counts);
  return out;
}

json members_of(const ScrubCounts& counts) {
  json out = {{"running", counts.running}, {"alarm", counts.alarm}};
  add_figures<ScrubCounts>(out, scrub_figures, counts);
  return out;
}

}  // namespace

void add_store(json& report, const ServedStore& served) {
  store::Store& store = *served.store;
  const WorkerCounts counts = served.worker->counts();
  json members = {{"name", served.name},
                  {"directory", store.directory()},
                  {"writable", store.writable()},
                  {"registry", store.registry() != nullptr},
                  {"stored_bytes", store.containers().bytes().value_or(0)},
                  {"index_containers_left", store.chunks().index_filler().progress().left},
                  {"files_waiting", counts.resting.waiting},
                  {"files_forgotten", counts.resting.forgotten},
                  {"gc", members_of(served.upkeep->counts())},
                  {"scrub", members_of(served.upkeep->scrub_counts())}};
  add_figures<ChunkCounts>(members, chunk_figures, store.chunks().counts());
  add_figures<WorkerCounts>(members, worker_figures, counts);
  if (const store::Windows* const windows = served.source->windows(); windows != nullptr)
    add_figures<WindowCounts>(members, window_figures, windows->counts());
  if (served.guard != nullptr) add_figures<GuardCounts>(members, guard_figures, served.guard->counts());
  report["stores"].push_back(std::move(members));
}

void register_metrics(base::MetricRegistry& metrics, const ServedStore& served) {
  const std::string label = fmt::format("store=\"{}\"", base::escaped_label(served.name));
  store::Store& store = *served.store;
  const StoreWorker& worker = *served.worker;
  const Upkeep& upkeep = *served.upkeep;
  register_figures<ChunkCounts>(metrics, label, chunk_figures, [&store] { return store.chunks().counts(); });
  register_figures<WorkerCounts>(metrics, label, worker_figures, [&worker] { return worker.counts(); });
  metrics.gauge("braid_store_index_containers_left",
                "Containers that the index does not know yet; until it does, files are not sealed", label,
                [&store] { return static_cast<double>(store.chunks().index_filler().progress().left); });
  metrics.gauge("braid_store_files_waiting", "Files that were written to and wait to be sealed", label,
                [&worker] { return static_cast<double>(worker.counts().resting.waiting); });
  metrics.counter_function("braid_store_files_forgotten_total",
                           "Files that will not be sealed for want of room in memory", label,
                           [&worker] { return static_cast<double>(worker.counts().resting.forgotten); });
  register_figures<UpkeepCounts>(metrics, label, upkeep_figures, [&upkeep] { return upkeep.counts(); });
  metrics.gauge("braid_store_gc_alarm", "1: the last one could not look at everything; the log says why",
                label, [&upkeep] { return upkeep.counts().alarm.empty() ? 0.0 : 1.0; });
  if (const store::Windows* const windows = served.source->windows(); windows != nullptr)
    register_figures<WindowCounts>(metrics, label, window_figures, [windows] { return windows->counts(); });
  if (const store::OpenGuard* const guard = served.guard; guard != nullptr)
    register_figures<GuardCounts>(metrics, label, guard_figures, [guard] { return guard->counts(); });
  register_figures<ScrubCounts>(metrics, label, scrub_figures, [&upkeep] { return upkeep.scrub_counts(); });
}

}  // namespace braid::server::roles::stores
