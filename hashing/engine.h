// The hashing engine: cuts and hashes on the CPU or on cards, with the same results, and returns them to the
// reactor that asked.
//
//   auto engine = Engine::create(options, clock, cuda_cards(...));
//   JobResult r = co_await engine->submit(job);     // on a reactor
//   ... engine->stop();                             // before the reactors end
//
// Small jobs run at once on the caller's thread; others where running estimates say they are done first. A
// job that a card fails is done again by the CPU: the caller sees a result, or an error that a CPU would have
// given.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hashing/card_manager.h"
#include "hashing/cpu_hasher.h"
#include "hashing/job.h"
#include "hashing/job_parts.h"
#include "hashing/worker_pool.h"
#include "io/op.h"

namespace braid::hashing {

// Who may do the work.
enum class EngineMode : std::uint8_t {
  cpu,        // cards are left alone
  card,       // whatever suits a card in use goes to one, for tests and measurements
  automatic,  // the one that is done first
};

struct EngineOptions {
  EngineMode mode = EngineMode::automatic;
  unsigned workers = 0;                       // CPU threads; 0: one for every two processors, at least one
  std::size_t inline_bytes = 64 * base::KiB;  // jobs up to this run on the caller's thread; 0: none
  // Larger jobs are done in parts of this size, several at a time, on all workers and cards, but not more of
  // them, so that they do not keep others waiting; at least chunk_bytes_max.
  std::size_t part_bytes = 8 * base::MiB;
  std::uint64_t queue_bytes_max = 256 * base::MiB;  // waiting for the CPU; more is refused with EAGAIN
  CardManagerOptions cards{};
};

struct EngineStats {
  // Inline: also by run(), on the thread that waits.
  std::uint64_t jobs_inline = 0, parts_worker = 0, parts_card = 0;
  std::uint64_t refused = 0;  // EAGAIN
  std::uint64_t bytes = 0;
  std::vector<CardStats> cards;
};

// Thread-safe. Outlives every submit().
class Engine {
 public:
  // EINVAL: options outside their limits. A card that cannot be opened is tried again later, not an error.
  static base::Result<std::unique_ptr<Engine>> create(const EngineOptions& options, const base::Clock& clock,
                                                      std::vector<std::unique_ptr<Card>> cards = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // On a reactor's thread, which the caller is resumed on. Errors: those of checked_bytes(), EAGAIN (too much
  // waits already: try later), ESHUTDOWN (after stop()), EIO (OpenSSL).
  io::Op<JobResult> submit(Job job);
  // For a thread of the caller's own, of no reactor, which waits: on a card, if that is done first by the
  // estimates and a slot takes the job, and otherwise on this thread, by its `own` hasher. `mode`: instead of
  // the engine's. After stop() no card is used. Errors: those of checked_bytes(), EIO (OpenSSL).
  base::Result<JobResult> run(const Job& job, CpuHasher& own, EngineMode mode);
  // Refuses new jobs, finishes those that run. A large job in parts ends with ESHUTDOWN. Before the reactors
  // end.
  void stop();
  [[nodiscard]] EngineStats stats() const;

 private:
  struct Handoff;
  struct Flight;
  struct Stretch {
    std::uint64_t bytes;
    std::span<const Chunk> known;
    bool admitted;
  };
  Engine(const EngineOptions& options, const base::Clock& clock, std::vector<std::unique_ptr<Card>> cards);
  bool dispatch(Task* task, bool admitted);
  bool give_to_card(Task* task, EngineMode mode);
  // The card in use that would be done first; null: none is in use.
  CardManager* first_card(Task& task);
  // How many parts can be worked on at the same time.
  [[nodiscard]] std::size_t parts_at_once() const;
  io::Op<JobResult> run_task(Task& task, bool admitted);
  io::Op<> run_flight(Flight& flight, bool admitted);
  io::Op<bool> run_stretch(JobParts& parts, Stretch stretch, JobResult& all);
  io::Op<> run_in_turn(JobParts& parts, JobResult& all);
  io::Op<> join_part(JobParts& parts, std::size_t i, std::uint64_t stretch_bytes, const JobResult& guess,
                     JobResult& all);
  io::Op<> run_side_by_side(JobParts& parts, std::size_t at_once, std::uint64_t stretch_bytes,
                            JobResult& all);

  const EngineOptions options_;
  const base::Clock& clock_;
  WorkerPool workers_;
  std::vector<std::shared_ptr<CardManager>> cards_;
  std::atomic<bool> stopped_{false};
  std::atomic<std::uint64_t> jobs_inline_{0}, parts_worker_{0}, parts_card_{0}, refused_{0}, bytes_{0};
};

}  // namespace braid::hashing
