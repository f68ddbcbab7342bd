// One thread per card: fills slots with waiting tasks, keeps some in flight, reads their results, and takes
// the card out of use when it fails. A second thread looks whether the first one comes back from the card.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "hashing/batch_cost.h"
#include "hashing/card.h"
#include "hashing/card_batch.h"
#include "hashing/look_plan.h"
#include "hashing/task_queue.h"

namespace braid::hashing {

struct CardManagerOptions {
  CardLimits limits{};
  unsigned in_flight_max = 3;  // slots started and not finished
  base::Duration patience =
      std::chrono::microseconds(200);  // a batch is not kept open longer; half for urgent tasks
  // A batch that takes longer, and longer than ten times what was expected, is done again by the CPU.
  base::Duration late_after = std::chrono::milliseconds(100);
  base::Duration open_patience = std::chrono::seconds(2);
  base::Duration stop_patience = std::chrono::seconds(2);
  std::uint64_t queue_bytes_max = 1U << 28;
  std::uint32_t verify_one_in = 4096;  // chunks hashed again by the CPU
  base::Duration first_quarantine =
      std::chrono::seconds(1);  // doubles with every failure, until it has proved itself
  base::Duration quarantine_max = std::chrono::minutes(5);
  base::Duration measure_after = std::chrono::seconds(10);  // a card that was too slow gets one task then
};

struct CardStats {
  std::string name;
  std::uint64_t batches = 0, bytes = 0, jobs = 0;
  std::uint64_t failures = 0;     // errors of the card, wrong results, and batches that did not end
  std::uint64_t wrong = 0;        // of them results that were not right
  std::uint64_t late = 0;         // of them batches that did not end in time
  std::uint64_t jobs_redone = 0;  // given to the CPU after a failure
  bool quarantined = false;
  base::Duration fixed{};    // of a batch, by the estimate
  double gb_per_second = 0;  // of its bytes, likewise
};

// Thread-safe. A task is completed exactly once: by this thread, or by whom `redo` gives it to.
class CardManager {
 public:
  // The card is tried at once, for `open_patience`; one that takes longer is used when it is open.
  static std::shared_ptr<CardManager> create(std::unique_ptr<Card> card, const CardManagerOptions& options,
                                             const base::Clock& clock, std::function<void(Task*)> redo);
  CardManager(const CardManager&) = delete;
  CardManager& operator=(const CardManager&) = delete;

  // Of a job that suits a card (CardBatch::suits). False (the task is not touched) when the card is not in
  // use or its queue is full.
  bool submit(Task* task);
  // When a new task of so many bytes would be done, from now.
  [[nodiscard]] base::Duration estimate(std::uint64_t bytes) const;
  [[nodiscard]] bool in_use() const { return in_use_; }
  // True, once, if nothing was given to the card for so long that its estimate may be an old one.
  bool may_measure();
  [[nodiscard]] CardStats stats() const;
  // Works off what is queued, then ends the threads and closes the card. A thread that does not come back
  // from the card within `stop_patience` is left behind, with this object and its card: it never runs again.
  // Required, once.
  void stop();

 private:
  // Idle: nothing in it. Submitted: packed, to be started. In flight: on the card.
  struct Slot {
    explicit Slot(const CardLimits& limits) : batch(limits) {}
    CardBatch batch;
    base::TimePoint started{};
    Looks looks{};
    base::TimePoint late_at{};
  };
  enum class Failure : std::uint8_t { error, wrong, late };

  CardManager(std::unique_ptr<Card> card, const CardManagerOptions& options, const base::Clock& clock,
              std::function<void(Task*)> redo);
  void run();
  void open_card();
  // Calls the card, which may not come back. Nothing if meanwhile the tasks were taken away (give_up()).
  template <class Call>
  auto on_card(Call call) -> std::optional<decltype(call())>;
  void watch();
  // Takes the tasks from a thread that does not come back from the card, with `lock` held; false if it just
  // did.
  bool take_away(std::unique_lock<std::mutex>& held);
  // What is left to do for the thread that has lost its tasks.
  void give_up();
  // With the lock held. All that the card has or waits for it, which is not in use any more.
  std::vector<Task*> take_tasks(Failure how);
  void clear_slots();
  [[nodiscard]] bool may_flush(const std::unique_lock<std::mutex>& held) const;
  // Until the card is to be asked, or a slot to be filled, or the thread to do something else.
  void wait(std::unique_lock<std::mutex>& held, base::TimePoint now, base::TimePoint look_at);
  // When the card is to be asked next; not after now: at once.
  [[nodiscard]] base::TimePoint next_look(base::TimePoint now) const;
  void fill_slot(const std::unique_lock<std::mutex>& held);
  [[nodiscard]] base::Duration estimate_of(const Slot& slot) const;
  void start_slots();
  void finish_slots();
  void complete(unsigned index);
  void fail(std::string_view what, Failure how);
  void quarantine(std::string_view what);

  const std::unique_ptr<Card> card_;
  const CardManagerOptions options_;
  const base::Clock& clock_;
  const std::function<void(Task*)> redo_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  TaskQueue queue_;
  base::TimePoint wakes_at_ = base::TimePoint::max();  // whatever waits; if it sleeps until then
  std::uint64_t bytes_on_card_ = 0;                    // submitted or in flight
  BatchCost cost_;
  base::TimePoint measured_at_{};  // the last batch ended, or was allowed to be a measurement
  CardStats stats_;
  std::atomic<bool> in_use_{false};  // set with the lock held
  bool opened_once_ = false;         // or tried to
  bool stopping_ = false;
  bool ended_ = false;               // the thread
  bool orphaned_ = false;            // nobody waits for the thread any more
  std::condition_variable changed_;  // opened_once_, ended_

  // Where the thread is. While it is on the card, its own data below are nobody's: whoever moves `where_`
  // from there to `taken` has them.
  enum class Place : std::uint8_t { here, on_card, taken };
  std::atomic<Place> where_{Place::here};
  std::atomic<base::Duration::rep> on_card_since_{0};

  // The thread's own.
  std::vector<Slot> slots_;
  std::vector<unsigned> idle_;
  std::deque<unsigned> submitted_, in_flight_;
  base::TimePoint retry_at_{};
  base::Duration quarantine_;
  base::TimePoint last_end_{};  // of a batch
  LookPlan look_plan_;
  std::uint64_t batches_since_open_ = 0;
  ResultChecks checks_;

  std::thread thread_, watch_;
};

}  // namespace braid::hashing
