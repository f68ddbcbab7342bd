#include "server/roles/stores/store_worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "base/log.h"
#include "base/unique_fd.h"
#include "io/for_each.h"
#include "server/roles/stores/paths.h"
#include "vfs/posix/directory_identity.h"

namespace braid::server::roles::stores {
namespace {

constexpr std::size_t files_taken = 64;
// By command. Each waits for the medium several times; what several wait for is made durable together, and
// clients wait longer for their own. Larger ones come one after the other: their bytes take memory, and
// longer than the waits.
constexpr std::size_t files_at_once = 8;
constexpr std::uint64_t bytes_at_once = 1U << 20U;
// The server's own descriptors for writing are gone after this.
constexpr base::Duration writers_idle = std::chrono::seconds(3);
constexpr std::size_t names_at_once = 1024;
// A stream is not gone on with after this.
constexpr base::Duration window_idle = std::chrono::seconds(5);

// A file that was removed meanwhile is no failure.
bool is_gone(vfs::Error error) { return error == vfs::Error::stale || error == vfs::Error::noent; }

// What a process on this machine would find there, in the order of the path.
std::vector<std::string> components(const std::string& path, const std::string& directory) {
  std::vector<std::string> out;
  for (const auto& part : std::filesystem::path(path).lexically_relative(directory))
    if (part != "." && !part.empty()) out.push_back(part.string());
  return out;
}

std::uint64_t device_of(const std::string& directory) {
  struct stat now{};
  return ::stat(directory.c_str(), &now) == 0 ? now.st_dev : 0;
}

}  // namespace

StoreWorker::StoreWorker(const config::StoreConfig& config, store::Store& store, store::StoreSource& source,
                         const store::HashJob& hash)
    : config_(config), store_(store), source_(source), resting_(std::chrono::seconds(config.seal_seconds)) {
  const store::StoreSource::TreeOf tree_of = [this](const vfs::FileHandle& file) { return tree_alone(file); };
  source_.use_trees(tree_of);
  if (config.ingest == config::StoreIngest::window && store.writable()) {
    store::WindowOptions options{.bytes_max = config.window_bytes_max, .hash = hash};
    options.tree_of = tree_of;
    source_.use_windows(std::move(options));
  }
  for (std::size_t i = 0; i < files_at_once; ++i)
    sealers_.emplace_back(store, source, [this] { return stopping(); }).hash_by(hash);
  source_.on_change([this](const vfs::FileHandle& file) {
    if (clock_ != nullptr) resting_.note(file, clock_->now());
  });
}

void StoreWorker::add_export(const config::ExportConfig& config) {
  const bool reopened = shared_.with([&](Shared& shared) {
    Place place{.config = config, .whole_path = whole_path(config.directory), .tree = std::nullopt};
    place.reopened = shared.places.contains(config.path);
    shared.places.insert_or_assign(config.path, place);
    return place.reopened;
  });
  if (reopened) source_.end_windows();
}

void StoreWorker::add_other(const config::ExportConfig& config) {
  shared_.with([&](Shared& shared) { shared.others.push_back(whole_path(config.directory)); });
}

void StoreWorker::start(io::Reactor& reactor, const vfs::Exports& exports, const base::Clock& clock) {
  exports_ = &exports;
  clock_ = &clock;
  home_.with([&](io::Reactor*& home) { home = &reactor; });
}

bool StoreWorker::stopping() const {
  return shared_.with([](const Shared& shared) { return shared.stopping; });
}

void StoreWorker::wake() {
  home_.with([this](io::Reactor* home) {
    if (home == nullptr) return;
    home->post([this] {
      const bool begins = !gate_.closed() &&
                          shared_.with([](Shared& shared) { return !std::exchange(shared.working, true); });
      if (begins) io::spawn(gate_, work());
      const bool sweeps = !gate_.closed() &&
                          shared_.with([](Shared& shared) { return !std::exchange(shared.sweeping, true); });
      if (sweeps) io::spawn(gate_, sweep_windows());
    });
  });
}

io::Op<> StoreWorker::close() {
  home_.with([](io::Reactor*& home) { home = nullptr; });
  shared_.with([](Shared& shared) { shared.stopping = true; });
  gate_.close();
  co_await gate_.drained();
  if (source_.windows() == nullptr) co_return;
  source_.windows()->stop();
  co_await close_windows();
  source_.windows()->forget_all();
}

io::Op<> StoreWorker::close_windows() { return source_.close_windows(base::TimePoint::max()); }

io::Op<> StoreWorker::sweep_windows() {
  look_at_exports();
  co_await source_.close_windows(clock_->now() - window_idle);
  shared_.with([](Shared& shared) { shared.sweeping = false; });
}

// Of a file with several names, another export may have one of them: there, nobody would see that it has a
// window or a recipe.
void StoreWorker::look_at_exports() {
  std::shared_ptr<const vfs::ExportTable> table = exports_->current();
  if (table == looked_at_) return;
  std::map<vfs::ExportId, std::uint32_t> trees;
  for (const vfs::Export& served : table->all()) {
    std::string why;
    const auto target = target_of(served, why);
    if (target && !target->shared) trees.emplace(served.id, target->tree);
  }
  trees_alone_.with([&](auto& known) { known = std::move(trees); });
  looked_at_ = std::move(table);
}

std::optional<std::uint32_t> StoreWorker::tree_alone(const vfs::FileHandle& file) const {
  if (exports_ == nullptr) return std::nullopt;
  const std::shared_ptr<const vfs::ExportTable> table = exports_->current();
  const vfs::Export* const served = table->by_handle(file.view());
  if (served == nullptr) return std::nullopt;
  return trees_alone_.with([&](const auto& known) -> std::optional<std::uint32_t> {
    const auto found = known.find(served->id);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  });
}

std::optional<SealJob> StoreWorker::next_job(bool seals) const {
  return shared_.with([seals](const Shared& shared) -> std::optional<SealJob> {
    for (const auto& [number, job] : shared.jobs)
      if (!job.ended && (seals || job.unseals)) return job;
    return std::nullopt;
  });
}

io::Op<> StoreWorker::work() {
  while (!stopping()) {
    // Before that what equals what is there already would be kept twice.
    const bool seals = store_.writable() && store_.chunks().index_filler().done();
    const std::optional<SealJob> job = next_job(seals);
    if (job) {
      co_await run(*job);
      continue;
    }
    const std::vector<store::RestingFiles::Taken> taken =
        resting_.take(clock_->now(), seals ? files_taken : 0);
    if (taken.empty()) break;
    for (const store::RestingFiles::Taken& file : taken) co_await seal_resting(file);
  }
  shared_.with([](Shared& shared) { shared.working = false; });
}

base::Result<std::uint32_t> StoreWorker::tree_of(const Place& place) {
  const base::UniqueFd fd(::open(place.config.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return base::fail(base::last_errno());
  const auto identity = vfs::posix::directory_identity(fd.get(), "");
  if (!identity) return base::fail(identity.error());
  return store_.tree_of(identity->file_system, place.whole_path);
}

// Two exports of the same files have calls that the sealing of one does not wait for.
std::optional<StoreWorker::Target> StoreWorker::target_of(const vfs::Export& served, std::string& why) {
  Target out{.file_system = served.file_system};
  std::optional<Place> place;
  std::vector<std::string> others;
  shared_.with([&](Shared& shared) {
    others = shared.others;
    for (const auto& [path, one] : shared.places) {
      if (path == served.path)
        place = one;
      else
        others.push_back(one.whole_path);
    }
  });
  if (!place || served.read_only) why = "it is read-only";
  if (place && place->reopened) why = "it was opened anew since the server was started";
  for (const std::string& other : others) {
    if (!place) break;
    if (lies_in(other, place->whole_path) || lies_in(place->whole_path, other))
      why = "another export has the same files";
    out.shared = out.shared || device_of(other) == device_of(place->whole_path);
  }
  if (!why.empty()) return std::nullopt;
  if (!place->tree) {
    const auto tree = tree_of(*place);
    if (!tree) why = base::message_of(tree.error());
    if (!tree) return std::nullopt;
    place->tree = *tree;
    shared_.with([&](Shared& shared) { shared.places.at(served.path).tree = *tree; });
  }
  out.tree = *place->tree;
  return out;
}

std::optional<StoreWorker::Target> StoreWorker::target_of(const vfs::FileHandle& file) {
  const std::shared_ptr<const vfs::ExportTable> table = exports_->current();
  const vfs::Export* const served = table->by_handle(file.view());
  if (served == nullptr) return std::nullopt;
  std::string why;
  auto target = target_of(*served, why);
  if (!target && complained_.insert(served->path).second)
    base::log_event(base::Level::warning, "store_does_not_seal", "export={}: {}", served->path, why);
  return target;
}

vfs::VfsOp<StoreWorker::Resting> StoreWorker::find_resting(const vfs::FileHandle& handle) {
  auto target = target_of(handle);
  if (!target) co_await base::fail(vfs::Error::stale);
  vfs::FileRef file = co_await target->file_system->resolve(handle.view());
  const vfs::Attributes now = co_await target->file_system->getattr(file);
  const auto changed =
      std::chrono::seconds(now.ctime.seconds) + std::chrono::nanoseconds(now.ctime.nanoseconds);
  const auto rested = std::chrono::duration_cast<base::Duration>(clock_->wall().time_since_epoch() - changed);
  co_return Resting{std::move(*target), std::move(file), rested};
}

// Whatever goes wrong on the way: the file stays as it is.
io::Op<> StoreWorker::seal_resting(const store::RestingFiles::Taken& taken) {
  if (stopping()) co_return;
  const auto found = co_await find_resting(taken.file).as_result();
  if (!found) {
    resting_.done(taken.file);
    co_return;
  }
  if (!resting_.is_due(taken, clock_->now(), found->rested)) co_return;
  const bool restless = !resting_.has_rested(found->rested);
  const auto outcome = co_await seal_file(found->target, found->file, restless, sealers_.front()).as_result();
  const bool settled = outcome
                           ? *outcome != store::SealOutcome::in_use && *outcome != store::SealOutcome::changed
                           : is_gone(outcome.error());
  if (settled) {
    resting_.done(taken.file);
    co_return;
  }
  resting_.again(taken, clock_->now());
  shared_.with([&](Shared& shared) {
    ++shared.counts.put_off;
    if (!outcome) ++shared.counts.failed;
  });
}

vfs::VfsOp<store::SealOutcome> StoreWorker::seal_file(const Target& target, const vfs::FileRef& file,
                                                      bool restless, store::LiveSealer& sealer) {
  const vfs::Attributes now = co_await target.file_system->getattr(file);
  // Another export may have another of its names.
  if (target.shared && now.nlink > 1) co_return store::SealOutcome::in_use;
  const store::SealOutcome outcome = co_await sealer.seal(*target.file_system, target.tree, file, restless);
  if (outcome == store::SealOutcome::sealed)
    shared_.with([&](Shared& shared) {
      ++shared.counts.sealed;
      shared.counts.sealed_bytes += sealer.bytes();
    });
  co_return outcome;
}

vfs::VfsOp<store::SealOutcome> StoreWorker::unseal_file(const Target& target, const vfs::FileRef& file,
                                                        store::LiveSealer& sealer) {
  const auto done = co_await sealer.unseal(*target.file_system, target.tree, file).as_result();
  if (!done && done.error() == vfs::Error::delay) co_return store::SealOutcome::in_use;
  if (!done) co_return base::fail(done.error());
  if (!*done) co_return store::SealOutcome::already;
  shared_.with([](Shared& shared) { ++shared.counts.unsealed; });
  co_return store::SealOutcome::sealed;
}

bool StoreWorker::has(const std::string& path) const {
  const std::string whole = whole_path(path);
  return shared_.with([&](const Shared& shared) {
    return std::ranges::any_of(shared.places,
                               [&](const auto& one) { return lies_in(whole, one.second.whole_path); });
  });
}

std::expected<std::uint64_t, std::string> StoreWorker::begin(const std::string& path, bool unseals) {
  if (!store_.writable())
    return std::unexpected("the store was opened for reading: its exports are read-only");
  if (store_.registry() == nullptr)
    return std::unexpected("the store's registry is damaged or gone: nothing can be sealed");
  const std::uint64_t number = shared_.with([&](Shared& shared) {
    while (shared.jobs.size() >= jobs_kept && shared.jobs.begin()->second.ended)
      shared.jobs.erase(shared.jobs.begin());
    if (shared.jobs.size() >= jobs_kept) return std::uint64_t{0};
    SealJob job{.number = ++shared.last_job, .path = whole_path(path), .unseals = unseals};
    shared.jobs.emplace(job.number, job);
    return job.number;
  });
  if (number == 0) return std::unexpected("too many trees wait to be sealed or unsealed; try again later");
  wake();
  return number;
}

std::optional<SealJob> StoreWorker::job(std::uint64_t number) const {
  return shared_.with([&](const Shared& shared) {
    const auto found = shared.jobs.find(number);
    return found == shared.jobs.end() ? std::nullopt : std::optional(found->second);
  });
}

WorkerCounts StoreWorker::counts() const {
  WorkerCounts out = shared_.with([](const Shared& shared) { return shared.counts; });
  out.resting = resting_.counts();
  return out;
}

void StoreWorker::publish(const SealJob& job) {
  shared_.with([&](Shared& shared) { shared.jobs.insert_or_assign(job.number, job); });
}

io::Op<> StoreWorker::run(SealJob job) {
  job.running = true;
  publish(job);
  const std::shared_ptr<const vfs::ExportTable> table = exports_->current();
  std::string export_path, directory;
  shared_.with([&](const Shared& shared) {
    for (const auto& [path, place] : shared.places)
      if (lies_in(job.path, place.whole_path) && place.whole_path.size() >= directory.size()) {
        export_path = path;
        directory = place.whole_path;
      }
  });
  const auto served = std::ranges::find(table->all(), export_path, &vfs::Export::path);
  std::string why;
  const auto target = served == table->all().end() ? std::nullopt : target_of(*served, why);
  bool there = target.has_value();
  vfs::FileRef at = there ? target->file_system->root() : vfs::FileRef();
  for (const std::string& name : components(job.path, directory)) {
    if (!there) break;
    const auto found = co_await target->file_system->lookup({}, at, name).as_result();
    there = found.has_value();
    if (found) at = found->file;
  }
  if (there) {
    Walk walk{.target = *target, .job = job};
    co_await this->walk(walk, std::move(at));
    // What was written to a moment ago.
    if (!walk.in_use.empty() && !stopping()) co_await io::Reactor::current()->sleep(writers_idle);
    const std::vector<vfs::FileRef> again = std::exchange(walk.in_use, {});
    for (const vfs::FileRef& file : again) co_await take_file(walk, file, 0, sealers_.front());
    job.in_use = walk.in_use.size();
  } else {
    ++job.failed;
    base::log_event(base::Level::warning, "store_job_failed", "{}: {}", job.path,
                    why.empty() ? "it is not there" : why);
  }
  job.running = false;
  job.ended = true;
  publish(job);
}

io::Op<> StoreWorker::walk(Walk& walk, vfs::FileRef top) {
  vfs::FileSystem& fs = *walk.target.file_system;
  const auto what = co_await fs.getattr(top).as_result();
  if (!what) ++walk.job.failed;
  if (what && what->type == vfs::FileType::directory) walk.directories.push_back(top);
  if (what && what->type == vfs::FileType::regular)
    co_await take_file(walk, top, what->size, sealers_.front());
  while (!walk.directories.empty() && !stopping()) {
    const vfs::FileRef directory = std::move(walk.directories.back());
    walk.directories.pop_back();
    std::uint64_t cookie = 0;
    for (bool whole = false; !whole && !stopping();) {
      std::vector<std::string> names;
      const auto take = [&](const vfs::DirectoryEntry& entry) {
        if (names.size() == names_at_once) return false;
        cookie = entry.cookie;
        names.emplace_back(entry.name);
        return true;
      };
      const auto listed =
          co_await fs.readdir({}, directory, {.cookie = cookie, .plus = false}, take).as_result();
      if (!listed && !is_gone(listed.error())) ++walk.job.failed;
      whole = !listed || *listed;
      std::erase_if(names, [](const std::string& name) { return name == "." || name == ".."; });
      const auto walk_one = [&](std::size_t worker, std::size_t item) {
        return walk_name(walk, directory, names[item], sealers_[worker]);
      };
      co_await io::for_each(files_at_once, names.size(), walk_one);
      for (const auto& [file, size] : std::exchange(walk.large, {}))
        if (!stopping()) co_await take_file(walk, file, size, sealers_.front());
    }
  }
}

io::Op<> StoreWorker::walk_name(Walk& walk, const vfs::FileRef& directory, const std::string& name,
                                store::LiveSealer& sealer) {
  if (stopping()) co_return;
  const auto found = co_await walk.target.file_system->lookup({}, directory, name).as_result();
  if (!found) co_return;
  const vfs::Attributes& now = found->attributes;
  if (now.type == vfs::FileType::directory) walk.directories.push_back(found->file);
  if (now.type != vfs::FileType::regular) co_return;
  if (now.size > bytes_at_once)
    walk.large.emplace_back(found->file, now.size);
  else
    co_await take_file(walk, found->file, now.size, sealer);
}

io::Op<> StoreWorker::take_file(Walk& walk, const vfs::FileRef& file, std::uint64_t size,
                                store::LiveSealer& sealer) {
  SealJob& job = walk.job;
  using store::SealOutcome;
  auto work =
      job.unseals ? unseal_file(walk.target, file, sealer) : seal_file(walk.target, file, false, sealer);
  const auto done = co_await std::move(work).as_result();
  if (!done && is_gone(done.error())) co_return;
  const std::optional<SealOutcome> outcome = done ? std::optional(*done) : std::nullopt;
  if (size > 0) ++job.files;
  job.bytes += size;
  if (!outcome) ++job.failed;
  if (!outcome && !job.unseals) shared_.with([](Shared& shared) { ++shared.counts.failed; });
  if (outcome == SealOutcome::sealed) {
    ++job.done;
    job.done_bytes += size;
  }
  if (outcome == SealOutcome::small) ++job.small;
  if (outcome == SealOutcome::already) ++job.already;
  if (outcome == SealOutcome::in_use || outcome == SealOutcome::changed) walk.in_use.push_back(file);
  publish(job);
}

}  // namespace braid::server::roles::stores
