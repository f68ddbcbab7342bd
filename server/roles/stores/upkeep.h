// What a server does for a store as a whole, of its own accord and for an administrator: it brings the index
// up to date, collects garbage, and reads all chunks to find damage.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/clock.h"
#include "server/config/config.h"
#include "server/roles/stores/rounds.h"
#include "store/content/store_source.h"
#include "store/maintenance/collector.h"
#include "store/maintenance/scrubber.h"

namespace braid::server::roles::stores {

// Of garbage collections.
struct UpkeepCounts {
  std::uint64_t collections = 0;  // that have ended
  std::uint64_t alarms = 0;       // of them those that could not look at everything
  std::uint64_t containers_removed = 0, bytes_removed = 0;
  std::uint64_t containers_rewritten = 0, bytes_moved = 0;
  std::uint64_t live_bytes = 0, garbage_bytes = 0, waiting_bytes = 0;  // as of the last one
  std::string alarm{};  // of the last one; empty: there is none
  bool collecting = false;
};

struct ScrubCounts {
  std::uint64_t passes = 0;    // that have ended
  std::uint64_t bytes = 0;     // that were read
  std::uint64_t bad = 0;       // places that are known to be bad
  std::uint64_t ended_at = 0;  // when the last pass had, since 1970; 0: none has
  std::string alarm{};         // why the last one did not go on
  bool running = false;
};

// How far a pass over all chunks is.
struct ScrubPass {
  bool running = false, ended = false;
  store::ScrubReport report{};  // so far
};

// How far a garbage collection is.
struct CollectionState {
  bool running = false, ended = false;
  unsigned marks = 0;
  std::uint64_t files = 0, removed = 0, rewritten = 0;  // so far
  store::GcReport report{};                             // when it has ended
};

// Of one store that is open for writing, on a thread of its own. All functions may be called from any thread.
class Upkeep {
 public:
  Upkeep(const config::StoreConfig& config, store::Store& store, store::StoreSource& source);
  ~Upkeep() { stop(); }
  Upkeep(const Upkeep&) = delete;
  Upkeep& operator=(const Upkeep&) = delete;

  // The clock outlives it.
  void start(const base::Clock& clock);
  // Begins what is due; about every second.
  void look();
  // The thread ends soon, and begins nothing more.
  void stop();

  // The number of the collection, which begins as soon as the one that is under way has ended; or a sentence
  // why there is none.
  std::expected<std::uint64_t, std::string> collect();
  // Nothing: nobody has asked for it. Of one that is over long ago: what the last one came to.
  [[nodiscard]] std::optional<CollectionState> collection(std::uint64_t number) const;
  [[nodiscard]] UpkeepCounts counts() const;

  // The same of a pass over all chunks, which begins anew, and goes as fast as it can.
  std::expected<std::uint64_t, std::string> scrub();
  [[nodiscard]] std::optional<ScrubPass> scrub_pass(std::uint64_t number) const;
  [[nodiscard]] ScrubCounts scrub_counts() const;

 private:
  void work(const std::stop_token& stop);
  void fill_index(const std::stop_token& stop);
  void run_collection(const std::stop_token& stop);
  void begin_scrub(const std::stop_token& stop);
  void step_scrub();
  [[nodiscard]] std::uint64_t scrub_bytes_per_second() const;
  void note(const store::GcReport& report);

  store::Store& store_;
  store::StoreSource& source_;
  const unsigned scrub_days_;
  const std::uint64_t keep_seconds_, gc_bytes_per_second_;
  const base::Clock* clock_ = nullptr;

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable_any wake_;
  Rounds collections_;
  std::optional<base::WallTime> due_{};  // the next one; nothing: not known yet
  UpkeepCounts counts_;
  store::GcReport last_;
  bool fills_ = false;                           // what the index lacks is to be put
  std::optional<base::TimePoint> fill_due_{};    // the next look whether there is room
  std::shared_ptr<store::GcProgress> progress_;  // of the one that is under way

  Rounds passes_;
  bool scrub_hurries_ = false;  // somebody waits for it
  std::optional<base::WallTime> scrub_due_{};
  ScrubCounts scrub_counts_;
  store::ScrubReport scrub_report_;

  bool says_behind_ = false;                 // of the thread: it is in the log, and that it is over is not
  std::uint64_t stored_bytes_ = 0;           // of the thread: when it looked last
  std::optional<store::Scrubber> scrubber_;  // of the thread: a pass is under way
  std::jthread thread_;
};

}  // namespace braid::server::roles::stores
