#include "hashing/engine.h"

#include <algorithm>
#include <thread>

#include "base/assert.h"
#include "hashing/cpu_hasher.h"
#include "hashing/job_parts.h"

namespace braid::hashing {
namespace {

unsigned worker_count(unsigned wanted) {
  if (wanted > 0) return wanted;
  return std::max(1U, std::thread::hardware_concurrency() / 2);
}

}  // namespace

// Suspends the submitter until the task is complete; goes on at once if nobody takes the task.
struct Engine::Handoff {
  Engine& engine;
  Task& task;
  bool admitted;  // a part of a job whose first part was taken
  bool taken = true;

  [[nodiscard]] bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<> handle) {
    task.waiter = handle;
    // Once dispatched, the coroutine may already run elsewhere: nothing of it is touched, unless it was
    // refused.
    if (engine.dispatch(&task, admitted)) return true;
    taken = false;
    return false;
  }
  [[nodiscard]] bool await_resume() const { return taken; }
};

base::Result<std::unique_ptr<Engine>> Engine::create(const EngineOptions& options, const base::Clock& clock,
                                                     std::vector<std::unique_ptr<Card>> cards) {
  const CardLimits& limits = options.cards.limits;
  if (options.part_bytes < chunk_bytes_max || limits.slots == 0 || options.cards.in_flight_max == 0 ||
      limits.slot_bytes < chunk_bytes_max || limits.slot_bytes > (1U << 30) ||
      limits.slot_bytes % 4096 != 0 || limits.streams_max == 0 || limits.streams_max > (1U << 20) ||
      options.cards.verify_one_in == 0)
    return base::fail(EINVAL);
  if (options.mode == EngineMode::cpu) cards.clear();
  return std::unique_ptr<Engine>(new Engine(options, clock, std::move(cards)));
}

Engine::Engine(const EngineOptions& options, const base::Clock& clock,
               std::vector<std::unique_ptr<Card>> cards)
    : options_(options),
      clock_(clock),
      workers_({.threads = worker_count(options.workers), .queue_bytes_max = options.queue_bytes_max},
               clock) {
  for (auto& card : cards)
    cards_.push_back(std::make_unique<CardManager>(std::move(card), options.cards, clock,
                                                   [this](Task* task) { workers_.redo(task); }));
}

Engine::~Engine() { stop(); }

void Engine::stop() {
  stopped_ = true;
  // Cards first: what they fail at goes to the workers.
  for (auto& card : cards_) card->stop();
  workers_.stop();
}

bool Engine::give_to_card(Task* task) {
  CardManager* best = nullptr;
  base::Duration best_time =
      options_.mode == EngineMode::card ? base::Duration::max() : workers_.estimate(task->bytes);
  for (auto& card : cards_) {
    if (!card->in_use()) continue;
    const base::Duration time = card->estimate(task->bytes);
    if (time >= best_time) continue;
    best = card.get();
    best_time = time;
  }
  return best != nullptr && best->submit(task);
}

bool Engine::dispatch(Task* task, bool admitted) {
  if (give_to_card(task)) {
    ++parts_card_;
    return true;
  }
  if (workers_.submit(task, admitted)) {
    ++parts_worker_;
    return true;
  }
  return false;
}

io::Op<JobResult> Engine::submit(Job job) {
  const auto bytes = checked_bytes(job);
  if (!bytes) co_return base::fail(bytes.error());
  if (stopped_) co_return base::fail(ESHUTDOWN);
  bytes_ += *bytes;
  if (*bytes <= options_.inline_bytes) {
    ++jobs_inline_;
    co_return CpuHasher(clock_).run(job);
  }
  io::Reactor* reactor = io::Reactor::current();
  base::check(reactor != nullptr, "jobs come from a reactor's thread");
  JobResult all;
  JobParts parts(std::move(job), *bytes, options_.part_bytes);
  for (bool done = false, first = true; !done; first = false) {
    Task task;
    task.reactor = reactor;
    task.job = parts.next(task.bytes);
    task.submitted = clock_.now();
    const bool taken = co_await Handoff{*this, task, !first};
    if (!taken) {
      ++refused_;
      co_return base::fail(stopped_ ? ESHUTDOWN : EAGAIN);
    }
    if (!task.result) co_return base::fail(task.result.error());
    done = parts.add(std::move(*task.result), all);
  }
  co_return all;
}

EngineStats Engine::stats() const {
  EngineStats out{jobs_inline_, parts_worker_, parts_card_, refused_, bytes_, {}};
  for (const auto& card : cards_) out.cards.push_back(card->stats());
  return out;
}

}  // namespace braid::hashing
