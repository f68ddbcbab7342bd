// What the engine itself costs beside a card: its threads' CPU time and its allocations, per job.
#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "base/clock.h"
#include "bench/hashing/rows.h"
#include "hashing/engine.h"
#include "hashing/host/host_card.h"
#include "io/gate.h"
#include "io/reactor.h"

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

constexpr base::Duration card_time =
    std::chrono::microseconds(100);  // as long as a card takes for a mebibyte

// Has computed the one job before: it answers again what it did then, a while after it was asked.
class RepeatingCard final : public Card {
 public:
  explicit RepeatingCard(const base::Clock& clock) : clock_(clock) {}
  [[nodiscard]] std::string name() const override { return "repeating"; }
  base::Result<void> open(const CardLimits& limits) override {
    started_.resize(limits.slots);
    return host_.open(limits);
  }
  void close() override { host_.close(); }
  void gather(unsigned slot, const CardWork& work) override {
    if (records_.empty()) {
      (void)host_.start(slot, work);
      const auto records = host_.records(slot);
      records_.assign(records.begin(), records.end());
    }
    for (card::Record& record : records_) {
      if ((record.flags & card::is_used) == 0) continue;
      record.flags &= ~(card::sequence_mask << card::sequence_shift);
      record.flags |= work.batch.sequence << card::sequence_shift;
    }
  }
  base::Result<void> load(unsigned) override { return {}; }
  base::Result<void> run(unsigned slot) override {
    started_[slot] = clock_.now();
    return {};
  }
  base::Result<bool> finished(unsigned slot) override { return clock_.now() - started_[slot] >= card_time; }
  [[nodiscard]] std::span<const card::Record> records(unsigned) override { return records_; }
  base::Result<void> slide(unsigned, const SlidingWindow&) override { return base::fail(ENOTSUP); }
  base::Result<std::vector<std::uint64_t>> slide_cuts(unsigned) override { return base::fail(ENOTSUP); }

 private:
  const base::Clock& clock_;
  HostCard host_;
  std::vector<card::Record> records_;
  std::vector<base::TimePoint> started_;
};

double cpu_us() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

// One job at a time; what all of them took is counted after the first ones.
io::Op<> run_jobs(Engine& engine, const Job& job, unsigned count, io::Reactor& reactor) {
  constexpr unsigned first_jobs = 100;
  double cpu_before = 0;
  std::uint64_t allocations_before = 0;
  for (unsigned i = 0; i < first_jobs + count; ++i) {
    if (i == first_jobs) {
      cpu_before = cpu_us();
      allocations_before = allocations;
    }
    (void)co_await engine.submit(job).as_result();
  }
  const double cpu = (cpu_us() - cpu_before) / count;
  const auto taken = static_cast<double>(allocations - allocations_before) / count;
  fmt::print("{:<62} {:.1f} us of CPU, {:.1f} allocations, per job\n", row_engine, cpu, taken);
  reactor.stop();
}

}  // namespace

void print_engine_row(base::BytesView data) {
  const base::SystemClock clock;
  std::vector<std::unique_ptr<Card>> cards;
  cards.push_back(std::make_unique<RepeatingCard>(clock));
  const auto engine =
      Engine::create({.mode = EngineMode::card, .workers = 1, .inline_bytes = 0}, clock, std::move(cards))
          .value();
  const auto reactor = io::Reactor::create({}, clock).value();
  const ChunkParams params = ChunkParams::of(Profile::general, Key());
  const Job job{.params = &params, .spans = {data.first(base::MiB)}};
  io::Gate gate;
  reactor->post(std::function<void()>(
      [&] { io::spawn(gate, run_jobs(*engine, job, is_quick() ? 100 : 10'000, *reactor)); }));
  reactor->run();
  const CardStats card = engine->stats().cards.at(0);
  if (card.failures > 0) fmt::print("  {} failures, {} wrong\n", card.failures, card.wrong);
}

}  // namespace braid::bench
