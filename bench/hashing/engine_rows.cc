// What the engine itself costs beside a card: its threads' CPU time beyond the driver's calls, and its
// allocations, per job.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "bench/hashing/cpu_time.h"
#include "bench/hashing/rows.h"
#include "hashing/card_batch.h"
#include "hashing/cuda/cuda_cards.h"
#include "hashing/engine.h"
#include "hashing/host/host_card.h"
#include "io/gate.h"
#include "io/reactor.h"
#include "tests/cuda_driver/control.h"

namespace {
std::atomic<std::uint64_t> allocations{0};
}

void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace braid::bench {
namespace {

using namespace hashing;

constexpr unsigned first_jobs = 1000;
constexpr base::Duration look_time = std::chrono::microseconds(1);  // cuEventQuery

// Of jobs that are all the same: answers again what was computed for the first one, a while after it was
// asked. What its calls take, which are the driver's with a card, is counted apart.
class RepeatingCard final : public Card {
 public:
  RepeatingCard(const base::Clock& clock, std::atomic<std::int64_t>& driver_ns)
      : clock_(clock), driver_ns_(driver_ns) {}
  [[nodiscard]] std::string name() const override { return "repeating"; }
  base::Result<void> open(const CardLimits& limits) override {
    slots_.resize(limits.slots);
    return host_.open(limits);
  }
  void close() override { host_.close(); }
  void gather(unsigned slot, const CardWork& work) override {
    const DriverCall call(*this);
    if (of_one_.empty()) compute(slot, work);
    std::vector<card::Record>& records = slots_[slot].records;
    records.assign(work.batch.record_count, {});
    for (const card::Stream& stream : work.streams) {
      std::size_t at = stream.first_record;
      for (card::Record record : of_one_) {
        record.begin += stream.begin;
        record.flags |= work.batch.sequence << card::sequence_shift;
        records[at++] = record;
      }
    }
  }
  base::Result<void> load(unsigned) override { return {}; }
  base::Result<void> run(unsigned slot) override {
    slots_[slot].started = clock_.now();
    return {};
  }
  base::Result<bool> finished(unsigned slot) override {
    const DriverCall call(*this);
    base::TimePoint now = clock_.now();
    while (now - call.begun < look_time) now = clock_.now();
    return now - slots_[slot].started >= card_time;
  }
  [[nodiscard]] std::span<const card::Record> records(unsigned slot) override { return slots_[slot].records; }
  base::Result<void> slide(unsigned, const SlidingWindow&) override { return base::fail(ENOTSUP); }
  base::Result<std::vector<std::uint64_t>> slide_cuts(unsigned) override { return base::fail(ENOTSUP); }

 private:
  // The first job, whose bytes begin where those of the batch do.
  void compute(unsigned slot, const CardWork& work) {
    (void)host_.start(slot, work);
    for (card::Record record : host_.records(slot)) {
      if ((record.flags & card::is_used) == 0) return;
      record.flags &= ~(card::sequence_mask << card::sequence_shift);
      of_one_.push_back(record);
    }
  }
  struct DriverCall {
    explicit DriverCall(RepeatingCard& card) : whose(card), begun(card.clock_.now()) {}
    ~DriverCall() {
      // Whoever was preempted meanwhile has not worked for so long.
      constexpr base::Duration longest = std::chrono::microseconds(100);
      const base::Duration took = std::min<base::Duration>(whose.clock_.now() - begun, longest);
      whose.driver_ns_.fetch_add(took.count(), std::memory_order_relaxed);
    }
    DriverCall(const DriverCall&) = delete;
    DriverCall& operator=(const DriverCall&) = delete;
    RepeatingCard& whose;
    const base::TimePoint begun;
  };
  struct Slot {
    std::vector<card::Record> records{};
    base::TimePoint started{};
  };

  const base::Clock& clock_;
  std::atomic<std::int64_t>& driver_ns_;
  HostCard host_;
  std::vector<card::Record> of_one_;
  std::vector<Slot> slots_;
};

base::Bytes random_bytes(std::size_t size) {
  base::Bytes out(size);
  std::mt19937_64 random(1);
  for (std::byte& byte : out) byte = static_cast<std::byte>(random());
  return out;
}

// Jobs by several submitters, each of which has one at a time. What all of them took is counted after the
// first ones.
struct Submitters {
  Engine& engine;
  const Job& job;
  unsigned left;
  unsigned counted_from;  // when so many are left
  const std::atomic<std::int64_t>& driver_ns;
  CpuTime cpu_before{};
  std::int64_t driver_before = 0;
  std::uint64_t allocations_before = 0;
};

io::Op<> submit_jobs(Submitters& run) {
  while (run.left > 0) {
    if (--run.left == run.counted_from) {
      run.cpu_before = CpuTime::now();
      run.driver_before = run.driver_ns;
      run.allocations_before = allocations;
    }
    (void)co_await run.engine.submit(run.job).as_result();
  }
}

io::Op<> run_jobs(Submitters& run, unsigned at_once, const char* row, io::Reactor& reactor) {
  io::Gate gate;
  for (unsigned i = 0; i < at_once; ++i) io::spawn(gate, submit_jobs(run));
  co_await gate.drained();
  const CpuTime now = CpuTime::now();
  const double all = (now.all_us - run.cpu_before.all_us) / run.counted_from;
  const double own = (now.own_us - run.cpu_before.own_us) / run.counted_from;
  const double driver = static_cast<double>(run.driver_ns - run.driver_before) / 1e3 / run.counted_from;
  const auto taken = static_cast<double>(allocations - run.allocations_before) / run.counted_from;
  fmt::print(
      "{:<62} {:.1f} us of CPU ({:.1f} of them the submitter's) beside {:.1f} us of the driver's calls, "
      "{:.1f} allocations, per job\n",
      row, all - driver, own, driver, taken);
  reactor.stop();
}

// What the driver of the tests tells: how long this thread has been in its calls. Null: it is another driver.
cuda_driver::Inside inside_of_driver() {
  // It is loaded already, and stays.
  void* const library = ::dlopen(CudaOptions().library.c_str(), RTLD_NOW | RTLD_NOLOAD);
  return library == nullptr
             ? nullptr
             : reinterpret_cast<cuda_driver::Inside>(::dlsym(library, cuda_driver::inside_name));
}

// Of this thread, for a batch; the median of several.
struct CudaCalls {
  double own_us = 0;
  double driver_us = 0;
};

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// What gives a batch to a card and takes its results, on one thread. Nothing is counted while the card works.
CudaCalls measure_cuda_calls(Card& card, const CardLimits& limits, const Job& job,
                             cuda_driver::Inside inside) {
  constexpr unsigned jobs = 8;
  const base::SystemClock clock;
  std::vector<Task> tasks(jobs);
  std::vector<double> own, driver;
  const unsigned batches = is_quick() ? 2 : 100;
  for (unsigned i = 0; i < batches; ++i) {
    CardBatch batch(limits);
    for (Task& task : tasks) {
      task.job = job;
      task.bytes = job.spans.front().size();
      base::check(batch.add(&task), "the jobs fit a slot");
    }
    const CardWork& work = batch.finish();
    const auto driver_before = inside == nullptr ? 0 : inside();
    const base::TimePoint begun = clock.now();
    card.gather(0, work);
    base::check(card.load(0).has_value() && card.run(0).has_value(), "the card takes the batch");
    base::Duration all = clock.now() - begun;
    const auto driver_meanwhile = inside == nullptr ? 0 : inside() - driver_before;
    base::check(card.wait(0).has_value(), "the card works");
    const base::TimePoint ended = clock.now();
    (void)card.records(0);
    all += clock.now() - ended;
    own.push_back(static_cast<double>(all.count() - driver_meanwhile) / 1e3);
    driver.push_back(static_cast<double>(driver_meanwhile) / 1e3);
    ResultChecks checks(1);
    base::check(batch.read(card.records(0), checks), "its results are right");
  }
  return {median_of(std::move(own)), median_of(std::move(driver))};
}

void print_cuda_calls(const ChunkParams& params, base::BytesView bytes) {
  io::SlabPool pool({.bytes_max = 64 * base::MiB});
  const CardLimits limits;
  const auto cards = cuda_cards({}, pool);
  if (cards.empty() || !cards.front()->open(limits)) {
    fmt::print("{:<62} no card\n", row_cuda_calls);
    return;
  }
  const auto slab = pool.acquire(io::SlabSize::large);
  base::check(slab.has_value(), "the pool has slabs");
  std::ranges::copy(bytes, (*slab).data());
  const base::BytesView pinned((*slab).data(), bytes.size());
  const cuda_driver::Inside inside = inside_of_driver();
  const CudaCalls calls =
      measure_cuda_calls(*cards.front(), limits, {.params = &params, .spans = {pinned}}, inside);
  if (inside == nullptr)
    fmt::print("{:<62} {:.1f} us, the driver's among them, per batch\n", row_cuda_calls, calls.own_us);
  else
    fmt::print("{:<62} {:.1f} us beside {:.1f} us of the driver's, per batch\n", row_cuda_calls, calls.own_us,
               calls.driver_us);
  cards.front()->close();
}

}  // namespace

void print_engine_rows() {
  const base::SystemClock clock;
  const base::Bytes data = random_bytes(base::MiB);
  const ChunkParams params = ChunkParams::of(Profile::general, Key());
  const Job job{.params = &params, .spans = {data}};
  const struct {
    const char* name;
    unsigned at_once;
  } rows[] = {{row_engine, 1}, {row_engine_busy, 16}};
  for (const auto& row : rows) {
    std::atomic<std::int64_t> driver_ns{0};
    std::vector<std::unique_ptr<Card>> cards;
    cards.push_back(std::make_unique<RepeatingCard>(clock, driver_ns));
    const auto engine =
        Engine::create({.mode = EngineMode::card, .workers = 1, .inline_bytes = 0}, clock, std::move(cards))
            .value();
    const auto reactor = io::Reactor::create({}, clock).value();
    const unsigned counted = is_quick() ? 100 : 10'000;
    Submitters run{.engine = *engine,
                   .job = job,
                   .left = counted + first_jobs,
                   .counted_from = counted,
                   .driver_ns = driver_ns};
    io::Gate gate;
    reactor->post(
        std::function<void()>([&] { io::spawn(gate, run_jobs(run, row.at_once, row.name, *reactor)); }));
    reactor->run();
    const CardStats card = engine->stats().cards.at(0);
    if (card.failures > 0) fmt::print("  {} failures, {} wrong\n", card.failures, card.wrong);
  }
  print_wakeups_row();
  print_cuda_calls(params, data);
}

}  // namespace braid::bench
