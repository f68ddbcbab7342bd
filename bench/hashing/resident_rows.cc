// A card without the engine: its link, its functions on bytes that it has already, and what it gains by
// keeping its buffers.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "bench/hashing/rows.h"
#include "hashing/card_batch.h"
#include "hashing/cpu_hasher.h"
#include "hashing/sliding_window.h"

namespace braid::bench {
namespace {

using namespace hashing;

// Bytes of the pool as work for a card, in one slot.
class Resident {
 public:
  Resident(Card& card, const CardLimits& limits, Job job) : card_(card), batch_(limits) {
    task_.job = std::move(job);
    task_.bytes = checked_bytes(task_.job).value();
    base::check(batch_.add(&task_), "the job fits a slot");
    (void)batch_.finish();
  }
  void load() {
    card_.gather(0, batch_.finish());
    base::check(card_.load(0).has_value(), "upload");
  }
  void run() { base::check(card_.run(0).has_value(), "steps"); }
  void slide(const SlidingWindow& window) { base::check(card_.slide(0, window).has_value(), "window"); }
  void wait() { base::check(card_.wait(0).has_value(), "the card works"); }
  // The card's results are the CPU's.
  [[nodiscard]] bool is_right() {
    ResultChecks checks(1);
    return batch_.read(card_.records(0), checks);
  }
  // GB/s of `work`, started again and again for a while and then waited for.
  template <class Work>
  double rate(Work work) {
    const base::SystemClock clock;
    work();
    wait();
    for (unsigned rounds = 1;; rounds *= 2) {
      const base::TimePoint start = clock.now();
      for (unsigned i = 0; i < rounds; ++i) work();
      wait();
      const double seconds = std::chrono::duration<double>(clock.now() - start).count();
      if (seconds > (is_quick() ? 0 : 0.2)) return static_cast<double>(rounds * task_.bytes) / seconds / 1e9;
    }
  }

 private:
  Card& card_;
  Task task_;
  CardBatch batch_;
};

constexpr SlidingWindow paper_window{.window = 20, .step = 1, .zero_bits = 14};

std::vector<base::BytesView> cut_evenly(std::span<const base::BytesView> data, std::size_t bytes) {
  std::vector<base::BytesView> out;
  for (base::BytesView piece : data)
    for (; !piece.empty(); piece = piece.subspan(std::min(bytes, piece.size())))
      out.push_back(piece.first(std::min(bytes, piece.size())));
  return out;
}

// One core's rate at the same jobs.
double core_rate(const Job& job) {
  const base::SystemClock clock;
  CpuHasher hasher(clock);
  return rate_of(checked_bytes(job).value(),
                 [&] { base::check(hasher.run(job).has_value(), "the job is right"); });
}

std::string beside(double card, double core) {
  return fmt::format("{:.0f} times one core ({:.3f})", card / core, core);
}

void function_row(const Table& table, const std::string& name, Card& card, const CardLimits& limits,
                  const Job& job) {
  Resident resident(card, limits, job);
  resident.load();
  const double rate = resident.rate([&] { resident.run(); });
  table.print(name, rate, beside(rate, core_rate(job)) + (resident.is_right() ? "" : ", WRONG"));
}

void sliding_row(const Table& table, Card& card, const CardLimits& limits,
                 std::span<const base::BytesView> data) {
  Resident resident(card, limits, {.work = Work::hash, .spans = {data.front()}});
  resident.load();
  const double rate = resident.rate([&] { resident.slide(paper_window); });
  const auto expected = sliding_cuts(paper_window, data.front());
  const auto got = card.slide_cuts(0);
  const bool right = got && expected && *got == *expected;
  const base::BytesView part = data.front().first(base::MiB / 4);
  const double core = rate_of(
      part.size(), [&] { base::check(sliding_cuts(paper_window, part).has_value(), "the window is right"); });
  table.print(row_sliding, rate, beside(rate, core) + (right ? "" : ", WRONG"));
}

// Direct hashing from the host, with buffers that are kept and with buffers taken for each job.
void buffer_rows(const Table& table, Card& card, const CardLimits& limits, const Job& job) {
  Resident resident(card, limits, job);
  table.print(row_kept, resident.rate([&] {
    resident.load();
    resident.run();
    resident.wait();
  }));
  table.print(row_taken, resident.rate([&] {
    card.close();
    base::check(card.open(limits).has_value(), "the card opens");
    resident.load();
    resident.run();
    resident.wait();
  }));
}

}  // namespace

void print_resident_rows(const Table& table, Card& card, std::span<const base::BytesView> data) {
  std::uint64_t bytes = 0;
  for (const base::BytesView piece : data) bytes += piece.size();
  const CardLimits limits{
      .slots = 1, .slot_bytes = static_cast<std::uint32_t>(bytes), .streams_max = 1U << 15};
  if (const auto opened = card.open(limits); !opened) {
    fmt::print("card {}: {}\n", card.name(), base::message_of(opened.error()));
    return;
  }
  const ChunkParams params = ChunkParams::of(Profile::general, Key());
  const std::vector<base::BytesView> pieces(data.begin(), data.end());
  Job fused{.params = &params, .spans = pieces};
  {
    Resident resident(card, limits, fused);
    table.print(row_link, resident.rate([&] { resident.load(); }));
  }
  function_row(table, row_blake3, card, limits,
               {.work = Work::hash, .spans = cut_evenly(data, 64 * base::KiB)});
  function_row(table, row_fused, card, limits, fused);
  const Job direct{
      .work = Work::hash, .algorithm = Algorithm::md5_tree, .spans = cut_evenly(data, base::MiB)};
  function_row(table, row_direct, card, limits, direct);
  sliding_row(table, card, limits, data);
  buffer_rows(table, card, limits, direct);
  card.close();
}

}  // namespace braid::bench
