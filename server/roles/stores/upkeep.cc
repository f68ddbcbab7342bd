#include "server/roles/stores/upkeep.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/background_thread.h"
#include "base/bytes.h"
#include "base/log.h"
#include "store/maintenance/sealed_trees.h"

namespace braid::server::roles::stores {
namespace {

// Garbage goes at most so much later than it may.
base::Duration interval_of(std::uint64_t keep_seconds) {
  constexpr std::uint64_t least = 1, most = 24U * 60 * 60;
  return std::chrono::seconds(std::clamp(keep_seconds / 4, least, most));
}

constexpr std::uint64_t seconds_of_day = 24U * 60 * 60;
constexpr base::Duration index_interval = std::chrono::seconds(10);  // between looks whether it has room

// Waits as long as so many bytes are to take, or until it is to stop.
void pace(const std::stop_token& stop, std::uint64_t bytes, std::uint64_t bytes_per_second) {
  const auto wait =
      std::chrono::duration<double>(static_cast<double>(bytes) / static_cast<double>(bytes_per_second));
  std::mutex alone;
  std::unique_lock lock(alone);
  std::condition_variable_any never;
  never.wait_for(lock, stop, wait, [] { return false; });
}

}  // namespace

Upkeep::Upkeep(const config::StoreConfig& config, store::Store& store, store::StoreSource& source)
    : store_(store),
      source_(source),
      scrub_days_(config.scrub_days),
      keep_seconds_(config.gc_keep_seconds),
      gc_bytes_per_second_(config.gc_bytes_per_second) {}

void Upkeep::start(const base::Clock& clock) {
  clock_ = &clock;
  if (store_.writable()) thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

void Upkeep::stop() { thread_.request_stop(); }

void Upkeep::look() {
  const std::scoped_lock lock(mutex_);
  if (!due_) return;
  const base::WallTime now = clock_->wall();
  if (now >= *due_) collections_.ask_if_idle();
  if (scrub_due_ && now >= *scrub_due_) passes_.ask_if_idle();
  if (!store_.chunks().index_filler().lacks_some()) {
    fill_due_.reset();
  } else if (!fill_due_) {
    fill_due_ = clock_->now() + index_interval;
  } else if (clock_->now() >= *fill_due_) {
    fills_ = true;
    fill_due_.reset();
  }
  wake_.notify_all();
}

std::expected<std::uint64_t, std::string> Upkeep::collect() {
  if (!store_.writable())
    return std::unexpected("the store was opened for reading: its exports are read-only");
  const std::scoped_lock lock(mutex_);
  // One that is under way may have looked already at what is garbage now.
  const std::uint64_t number = collections_.ask();
  wake_.notify_all();
  return number;
}

std::optional<CollectionState> Upkeep::collection(std::uint64_t number) const {
  const std::scoped_lock lock(mutex_);
  const Rounds::Stage stage = collections_.stage_of(number);
  if (stage == Rounds::Stage::unknown) return std::nullopt;
  CollectionState out{.running = stage == Rounds::Stage::running, .ended = stage == Rounds::Stage::ended};
  if (out.running) {
    out.marks = progress_->marks;
    out.files = progress_->files;
    out.removed = progress_->removed;
    out.rewritten = progress_->rewritten;
  }
  if (out.ended) {
    out.report = last_;
    out.files = last_.files;
    out.removed = last_.removed;
    out.rewritten = last_.rewritten;
  }
  return out;
}

UpkeepCounts Upkeep::counts() const {
  const std::scoped_lock lock(mutex_);
  UpkeepCounts out = counts_;
  out.collecting = collections_.running();
  return out;
}

// Files are not sealed meanwhile. Where there is no room for the index that goes on later.
void Upkeep::fill_index(const std::stop_token& stop) {
  using Step = store::IndexFiller::Step;
  store::IndexFiller& filler = store_.chunks().index_filler();
  filler.begin_again();
  Step step = filler.step();
  const std::uint64_t left = filler.progress().left;
  // The last two may be looked through whenever the server did not end cleanly.
  constexpr std::uint64_t a_few = 2;
  if (left > a_few && !std::exchange(says_behind_, true))
    base::log_event(base::Level::warning, "store_index_behind",
                    "{}: the index does not know {} containers; files are sealed when it does",
                    store_.directory(), left);
  while (step == Step::more && !stop.stop_requested()) step = filler.step();
  if (filler.done() && std::exchange(says_behind_, false))
    base::log_event(base::Level::info, "store_index_filled", "{}: with {} chunks", store_.directory(),
                    filler.progress().chunks);
}

void Upkeep::work(const std::stop_token& stop) {
  base::give_way_to_others();
  fill_index(stop);
  const std::uint64_t marked = store_.marks().marked;
  const store::ScrubState scrubbed = store_.scrub_state();
  {
    const std::scoped_lock lock(mutex_);
    due_ = base::wall_time_at(marked) + interval_of(keep_seconds_);
    scrub_counts_.bad = scrubbed.bad.size();
    scrub_counts_.ended_at = scrubbed.ended;
    // What was begun goes on.
    if (scrub_days_ > 0)
      scrub_due_ = base::wall_time_at(scrubbed.next != 0 ? 0 : scrubbed.begun + scrub_days_ * seconds_of_day);
  }
  while (!stop.stop_requested()) {
    bool fills = false, collects = false;
    {
      std::unique_lock lock(mutex_);
      const auto is_wanted = [this] { return fills_ || collections_.wanted() || passes_.wanted(); };
      if (!wake_.wait(lock, stop, is_wanted)) return;
      fills = std::exchange(fills_, false);
      // A pass takes days: garbage does not wait for its end.
      collects = !fills && collections_.wanted();
      if (collects) collections_.begin();
      if (collects) progress_ = std::make_shared<store::GcProgress>();
    }
    if (fills) {
      fill_index(stop);
    } else if (collects) {
      run_collection(stop);
    } else {
      begin_scrub(stop);
      step_scrub();
    }
  }
}

void Upkeep::begin_scrub(const std::stop_token& stop) {
  bool anew = false;
  {
    const std::scoped_lock lock(mutex_);
    if (scrubber_ && !passes_.waiting()) return;
    anew = scrub_hurries_;
    passes_.begin();
    scrub_counts_.running = true;
    scrub_report_ = {};
  }
  scrubber_.emplace(store_, *clock_,
                    store::ScrubOptions{.stop = [&stop] { return stop.stop_requested(); },
                                        .pace =
                                            [this, &stop, anew](std::uint64_t bytes) {
                                              if (!anew) pace(stop, bytes, scrub_bytes_per_second());
                                            }});
  scrubber_->begin(anew);
}

// So that a pass takes a quarter of the time that it has.
std::uint64_t Upkeep::scrub_bytes_per_second() const {
  constexpr std::uint64_t least = 8 * base::MiB;
  const std::uint64_t seconds = std::max(scrub_days_, 1U) * seconds_of_day / 4;
  return std::max(least, stored_bytes_ / seconds);
}

void Upkeep::step_scrub() {
  stored_bytes_ = store_.containers().bytes().value_or(0);
  const std::uint64_t before = scrubber_->report().bytes;
  const bool goes_on = scrubber_->step();
  const store::ScrubReport report = scrubber_->report();
  if (!goes_on) scrubber_.reset();
  bool alarm_is_new = false;
  {
    const std::scoped_lock lock(mutex_);
    scrub_report_ = report;
    scrub_counts_.bytes += report.bytes - before;
    scrub_counts_.bad = report.bad;
    if (goes_on) return;
    passes_.end();
    scrub_hurries_ = passes_.wanted();
    scrub_counts_.running = false;
    alarm_is_new = !report.alarm.empty() && report.alarm != scrub_counts_.alarm;
    scrub_counts_.alarm = report.alarm;
    const base::WallTime now = clock_->wall();
    if (scrub_due_) scrub_due_ = now + std::chrono::seconds(scrub_days_ * seconds_of_day);
    if (report.alarm.empty() && !report.stopped) {
      ++scrub_counts_.passes;
      scrub_counts_.ended_at = base::seconds_since_1970(now);
    }
  }
  if (alarm_is_new)
    base::log_event(base::Level::error, "store_scrub_stopped", "{}: {}", store_.directory(), report.alarm);
  else if (report.alarm.empty() && !report.stopped)
    base::log_event(report.bad > 0 ? base::Level::error : base::Level::info, "store_scrubbed",
                    "{}: {} chunks, {} bytes; {} places are damaged", store_.directory(), report.chunks,
                    report.bytes, report.bad);
}

std::expected<std::uint64_t, std::string> Upkeep::scrub() {
  if (!store_.writable())
    return std::unexpected("the store was opened for reading: its exports are read-only");
  const std::scoped_lock lock(mutex_);
  // One for which somebody waits already does for both.
  if (!scrub_hurries_ || !passes_.wanted()) passes_.ask();
  scrub_hurries_ = true;
  wake_.notify_all();
  return passes_.asked();
}

std::optional<ScrubPass> Upkeep::scrub_pass(std::uint64_t number) const {
  const std::scoped_lock lock(mutex_);
  const Rounds::Stage stage = passes_.stage_of(number);
  if (stage == Rounds::Stage::unknown) return std::nullopt;
  ScrubPass out{.running = stage == Rounds::Stage::running, .ended = stage == Rounds::Stage::ended};
  if (out.running || out.ended) out.report = scrub_report_;
  return out;
}

ScrubCounts Upkeep::scrub_counts() const {
  const std::scoped_lock lock(mutex_);
  return scrub_counts_;
}

void Upkeep::run_collection(const std::stop_token& stop) {
  store::PosixTrees trees(store::open_trees(store_));
  store::GcOptions options{.keep_seconds = keep_seconds_,
                           .stop = [&stop] { return stop.stop_requested(); },
                           .pace = [&](std::uint64_t bytes) { pace(stop, bytes, gc_bytes_per_second_); },
                           .open_records = [this] { return source_.records(); }};
  const store::GcReport report = store::Collector(store_, trees, *clock_, std::move(options)).run(*progress_);
  note(report);
}

void Upkeep::note(const store::GcReport& report) {
  bool alarm_is_new = false;
  {
    const std::scoped_lock lock(mutex_);
    collections_.end();
    due_ = clock_->wall() + interval_of(keep_seconds_);
    last_ = report;
    ++counts_.collections;
    if (!report.alarm.empty()) ++counts_.alarms;
    counts_.containers_removed += report.removed;
    counts_.bytes_removed += report.removed_bytes;
    counts_.containers_rewritten += report.rewritten;
    counts_.bytes_moved += report.moved_bytes;
    alarm_is_new = !report.alarm.empty() && report.alarm != counts_.alarm;
    counts_.alarm = report.alarm;
    if (report.alarm.empty() && !report.stopped) {
      counts_.live_bytes = report.live_bytes;
      counts_.garbage_bytes = report.garbage_bytes;
      counts_.waiting_bytes = report.waiting_bytes;
    }
  }
  if (report.entries_dropped > 0)
    base::log_event(base::Level::info, "store_registry_rewritten",
                    "{}: without {} entries that it does not need", store_.directory(),
                    report.entries_dropped);
  if (report.removed + report.rewritten > 0)
    base::log_event(
        base::Level::info, "store_gc",
        "{}: {} containers removed, {} bytes; {} rewritten, {} bytes moved; {} files refer to {} bytes",
        store_.directory(), report.removed, report.removed_bytes, report.rewritten, report.moved_bytes,
        report.files, report.live_bytes);
  if (alarm_is_new)
    base::log_event(base::Level::error, "store_gc_stopped", "{}: nothing is removed: {}", store_.directory(),
                    report.alarm);
}

}  // namespace braid::server::roles::stores
