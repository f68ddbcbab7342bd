#include "hashing/engine.h"

#include <algorithm>
#include <deque>
#include <thread>

#include "base/assert.h"
#include "hashing/cpu_hasher.h"
#include "hashing/job_parts.h"
#include "io/gate.h"

namespace braid::hashing {
namespace {

// Who has done it says where; the engine knows why there.
void note_choice(Task& task) {
  if (!task.result) return;
  task.choice.where = task.result->choice.where;
  task.result->choice = task.choice;
}

unsigned worker_count(unsigned wanted) {
  if (wanted > 0) return wanted;
  return std::max(1U, std::thread::hardware_concurrency() / 2);
}

}  // namespace

// Suspends the submitter until the task is complete; goes on at once if nobody takes the task.
struct Engine::Handoff {
  Engine& engine;
  Task& task;
  bool admitted;  // belongs to a job of which another part was taken
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

// A part that is worked on while its job goes on with others.
struct Engine::Flight {
  Task task;
  base::Result<JobResult> result = base::fail(ECANCELED);
  io::Gate gate;  // empty when the result is there
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
    cards_.push_back(CardManager::create(std::move(card), options.cards, clock, [this](Task* task) {
      task->choice.reason = Reason::redone;
      workers_.redo(task);
    }));
}

Engine::~Engine() { stop(); }

void Engine::stop() {
  if (stopped_.exchange(true)) return;
  // Cards first: what they fail at goes to the workers.
  for (auto& card : cards_) card->stop();
  workers_.stop();
}

CardManager* Engine::first_card(Task& task) {
  CardManager* first = nullptr;
  for (std::size_t i = 0; i < cards_.size(); ++i) {
    if (!cards_[i]->in_use()) continue;
    const base::Duration time = cards_[i]->estimate(task.bytes);
    if (first != nullptr && time >= task.choice.on_card) continue;
    first = cards_[i].get();
    task.choice.card = i;
    task.choice.on_card = time;
  }
  return first;
}

// Once a card has the task, it may be gone: why it has it is said before.
bool Engine::give_to_card(Task* task, EngineMode mode) {
  Choice& choice = task->choice;
  const auto to_cores = [&choice](Reason why) {
    choice.reason = why;
    return false;
  };
  if (cards_.empty()) return to_cores(Reason::no_card);
  if (!task->known.empty()) return to_cores(Reason::rejoined);
  if (!CardBatch::suits(task->job, task->bytes, options_.cards.limits)) return to_cores(Reason::unsuited);
  CardManager* card = first_card(*task);
  if (card == nullptr) return to_cores(Reason::out_of_use);
  choice.on_cores = workers_.estimate(task->bytes);
  choice.reason = mode == EngineMode::card ? Reason::told : Reason::sooner;
  if (mode == EngineMode::automatic && choice.on_card >= choice.on_cores) {
    if (!card->may_measure()) return to_cores(Reason::sooner);
    choice.reason = Reason::measured;
  }
  return card->submit(task) || to_cores(Reason::full);
}

bool Engine::dispatch(Task* task, bool admitted) {
  if (give_to_card(task, options_.mode)) {
    ++parts_card_;
    return true;
  }
  if (workers_.submit(task, admitted)) {
    ++parts_worker_;
    return true;
  }
  return false;
}

std::size_t Engine::parts_at_once() const {
  std::size_t out = worker_count(options_.workers);
  for (const auto& card : cards_)
    if (card->in_use()) out += options_.cards.limits.slots;
  return out;
}

io::Op<JobResult> Engine::run_task(Task& task, bool admitted) {
  task.reactor = io::Reactor::current();
  task.submitted = clock_.now();
  const bool taken = co_await Handoff{*this, task, admitted};
  if (!taken) {
    ++refused_;
    co_return base::fail(stopped_ ? ESHUTDOWN : EAGAIN);
  }
  note_choice(task);
  co_return std::move(task.result);
}

io::Op<> Engine::run_flight(Flight& flight, bool admitted) {
  flight.result = co_await run_task(flight.task, admitted).as_result();
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
  base::check(io::Reactor::current() != nullptr, "jobs come from a reactor's thread");
  const std::size_t at_once = parts_at_once();
  const bool is_hash = job.work == Work::hash;
  const std::uint64_t stretch_bytes = is_hash ? 0 : 2 * std::uint64_t{job.params->sizes().max};
  if (*bytes <= options_.part_bytes && job.spans.size() <= options_.part_bytes / chunk_bytes_min) {
    Task task;
    task.job = std::move(job);
    task.bytes = *bytes;
    co_return co_await run_task(task, false);
  }
  JobParts parts(std::move(job), *bytes, options_.part_bytes);
  JobResult all;
  // Guessing where parts begin is of use only to those who can do more than one at a time.
  const bool in_turn = at_once == 1 && !is_hash && parts.count() > 1;
  if (in_turn)
    co_await run_in_turn(parts, all);
  else
    co_await run_side_by_side(parts, at_once, stretch_bytes, all);
  co_return all;
}

// The next stretch of a stream, on whoever takes it. False: nothing more can be cut.
io::Op<bool> Engine::run_stretch(JobParts& parts, Stretch stretch, JobResult& all) {
  Task task;
  task.job = parts.stretch(stretch.bytes);
  task.bytes = stretch.bytes;
  task.known = stretch.known;
  const JobResult result = co_await run_task(task, stretch.admitted);
  all.timings += result.timings;
  co_return parts.add(result, all);
}

io::Op<> Engine::run_in_turn(JobParts& parts, JobResult& all) {
  const std::size_t last = parts.count() - 1;
  bool admitted = false;
  for (bool more = true; more && parts.left_of(last) > 0; admitted = true) {
    const std::uint64_t bytes = std::min<std::uint64_t>(options_.part_bytes, parts.left_of(last));
    more = co_await run_stretch(parts, {bytes, {}, admitted}, all);
  }
}

// The true chunks up to the end of part i, from what was cut before it and what it was cut into.
io::Op<> Engine::join_part(JobParts& parts, std::size_t i, std::uint64_t stretch_bytes,
                           const JobResult& guess, JobResult& all) {
  all.timings += guess.timings;
  for (bool more = true; more && !parts.adopt(i, guess, all) && parts.left_of(i) > 0;) {
    const std::uint64_t bytes = std::min(stretch_bytes, parts.left_of(i));
    more = co_await run_stretch(parts, {bytes, guess.chunks, true}, all);
  }
}

io::Op<> Engine::run_side_by_side(JobParts& parts, std::size_t at_once, std::uint64_t stretch_bytes,
                                  JobResult& all) {
  std::deque<Flight> flights;
  base::Result<void> done;
  std::size_t started = 0;
  for (std::size_t i = 0; done && i < parts.count(); ++i) {
    for (; started < parts.count() && flights.size() < at_once; ++started) {
      Flight& flight = flights.emplace_back();
      flight.task.job = parts.part(started);
      flight.task.bytes = parts.bytes_of(started);
      io::spawn(flight.gate, run_flight(flight, started > 0));
    }
    co_await flights.front().gate.drained();
    const auto& guess = flights.front().result;
    if (guess)
      done = co_await join_part(parts, i, stretch_bytes, *guess, all).as_result();
    else
      done = base::fail(guess.error());
    flights.pop_front();
  }
  for (Flight& flight : flights) co_await flight.gate.drained();
  if (!done) co_await base::fail(done.error());
}

base::Result<JobResult> Engine::run(const Job& job, CpuHasher& own, EngineMode mode) {
  const auto bytes = checked_bytes(job);
  if (!bytes) return base::fail(bytes.error());
  bytes_ += *bytes;
  Completion completion;
  Task task;
  task.job = job;
  task.bytes = *bytes;
  task.submitted = clock_.now();
  task.completion = &completion;
  if (mode != EngineMode::cpu && *bytes > options_.inline_bytes && give_to_card(&task, mode)) {
    ++parts_card_;
    completion.wait();
    note_choice(task);
    return std::move(task.result);
  }
  ++jobs_inline_;
  task.result = own.run(job);
  workers_.measured(*bytes, clock_.now() - task.submitted);
  note_choice(task);
  return std::move(task.result);
}

EngineStats Engine::stats() const {
  EngineStats out{jobs_inline_, parts_worker_, parts_card_, refused_, bytes_, {}};
  for (const auto& card : cards_) out.cards.push_back(card->stats());
  return out;
}

}  // namespace braid::hashing
