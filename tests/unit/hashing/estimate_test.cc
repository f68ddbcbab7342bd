// What the engine expects of cores and cards, when it asks a card, and where jobs go by that: on clocks that
// tests move.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/manual/manual_clock.h"
#include "hashing/batch_cost.h"
#include "hashing/cpu_hasher.h"
#include "hashing/engine.h"
#include "hashing/host/host_card.h"
#include "hashing/look_plan.h"
#include "hashing/moving_average.h"
#include "hashing/worker_pool.h"
#include "tests/unit/hashing/random_data.h"

namespace braid::hashing {
namespace {

using namespace std::chrono_literals;
using base::Duration;
using base::KiB;
using base::MiB;

// A time for each batch, and bytes in a nanosecond.
struct Speed {
  Duration fixed{};
  double bytes_per_ns = 1;
  [[nodiscard]] Duration of(std::uint64_t bytes) const {
    return fixed + Duration(static_cast<Duration::rep>(static_cast<double>(bytes) / bytes_per_ns));
  }
};

void expect_near(Duration got, Duration wanted, double part) {
  EXPECT_NEAR(static_cast<double>(got.count()), static_cast<double>(wanted.count()),
              part * static_cast<double>(wanted.count()));
}

TEST(MovingAverage, forgets_the_guess_with_the_first_measurement_and_early_ones_slowly) {
  MovingAverage average(1000);
  average.add(10);
  EXPECT_DOUBLE_EQ(average.value(), 10);
  average.add(20);
  EXPECT_DOUBLE_EQ(average.value(), 15) << "the first ones count alike";
  for (int i = 0; i < 8; ++i) average.add(15);
  EXPECT_DOUBLE_EQ(average.value(), 15);
  average.add(25);
  EXPECT_DOUBLE_EQ(average.value(), 16) << "a tenth";
}

TEST(BatchCost, the_first_batch_replaces_the_guess) {
  BatchCost cost;
  const Duration guess = cost.of(MiB);
  const Speed slow{50us, 0.1};
  ASSERT_GT(slow.of(MiB), 10 * guess);
  cost.learn(MiB, slow.of(MiB));
  expect_near(cost.of(MiB), slow.of(MiB), 0.001);
  BatchCost other;
  other.learn(MiB, 5us);
  expect_near(other.of(MiB), 5us, 0.001);
}

TEST(BatchCost, batches_of_two_sizes_tell_the_fixed_time_from_that_of_bytes) {
  for (const Speed card : {Speed{2us, 50}, Speed{40us, 40}, Speed{1ms, 5}, Speed{0us, 1}}) {
    SCOPED_TRACE(card.fixed.count());
    BatchCost cost;
    cost.learn(MiB, card.of(MiB));
    for (int i = 0; i < 30; ++i) cost.learn(i % 2 == 0 ? 8 * MiB : MiB, card.of(i % 2 == 0 ? 8 * MiB : MiB));
    for (const std::uint64_t bytes : {64 * KiB, MiB, 4 * MiB, 64 * MiB})
      EXPECT_NEAR(static_cast<double>(cost.of(bytes).count()), static_cast<double>(card.of(bytes).count()),
                  2000 + 0.02 * static_cast<double>(card.of(bytes).count()));
    EXPECT_NEAR(cost.bytes_per_ns(), card.bytes_per_ns, 0.02 * card.bytes_per_ns);
  }
}

TEST(BatchCost, batches_of_one_size_tell_of_that_size) {
  const Speed card{300us, 50};
  BatchCost cost;
  for (int i = 0; i < 20; ++i) cost.learn(4 * MiB, card.of(4 * MiB));
  expect_near(cost.of(4 * MiB), card.of(4 * MiB), 0.001);
  EXPECT_GT(cost.of(8 * MiB), cost.of(4 * MiB));
  EXPECT_LE(cost.fixed(), card.of(4 * MiB) / 2);
}

TEST(BatchCost, follows_a_card_that_has_become_slower_or_faster) {
  BatchCost cost;
  const auto learn = [&cost](const Speed& card) {
    for (int i = 0; i < 60; ++i) {
      const std::uint64_t bytes = (1 + static_cast<std::uint64_t>(i) % 8) * MiB;
      cost.learn(bytes, card.of(bytes));
    }
  };
  for (const Speed card : {Speed{40us, 40}, Speed{400us, 2}, Speed{20us, 55}}) {
    learn(card);
    expect_near(cost.of(4 * MiB), card.of(4 * MiB), 0.05);
  }
}

// A thread that was kept from running is no slow card: else that would be used no more, and measured seldom.
TEST(BatchCost, one_batch_that_took_long_does_not_say_much) {
  const Speed card{40us, 40};
  BatchCost cost;
  for (int i = 0; i < 20; ++i) cost.learn(i % 2 == 0 ? MiB : 8 * MiB, card.of(i % 2 == 0 ? MiB : 8 * MiB));
  cost.learn(MiB, 90ms);
  for (const std::uint64_t bytes : {MiB, 4 * MiB, 8 * MiB}) EXPECT_LT(cost.of(bytes), 2 * card.of(bytes));
}

TEST(BatchCost, whatever_is_measured_more_bytes_take_longer_and_none_less_than_nothing) {
  std::uint64_t random = 1;
  const auto next = [&random](std::uint64_t below) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    return (random >> 33U) % below;
  };
  for (int round = 0; round < 200; ++round) {
    BatchCost cost;
    for (int i = 0; i < 30; ++i)
      cost.learn(next(3) == 0 ? 0 : next(16 * MiB),
                 Duration(static_cast<Duration::rep>(next(20'000'000)) - 1000));
    EXPECT_GE(cost.fixed(), 0ns);
    EXPECT_GE(cost.of(0), 0ns);
    EXPECT_LT(cost.of(MiB), cost.of(64 * MiB));
    EXPECT_GT(cost.bytes_per_ns(), 0);
  }
}

// Batches on a card, asked as LookPlan says by a thread whose sleeps take longer than they are to.
class Asking {
 public:
  explicit Asking(Duration oversleep) : oversleep_(oversleep) {}
  void set_oversleep(Duration oversleep) { oversleep_ = oversleep; }
  struct Outcome {
    Duration waited{};  // of the card, for somebody to notice
    Duration first{};   // when it was to be asked first, since the start
    unsigned looks = 0;
  };
  Outcome batch(Duration takes, Duration expected) {
    constexpr Duration look_takes = 1us;
    const base::TimePoint end = now_ + takes;
    Looks looks = plan_.plan(now_, expected);
    Outcome out{.waited = {}, .first = looks.first - now_, .looks = 0};
    for (;;) {
      const base::TimePoint next = LookPlan::next(looks, now_);
      now_ = next > now_ ? next + oversleep_ : now_ + look_takes;
      LookPlan::look(looks, now_);
      if (now_ >= end) break;
    }
    plan_.learn(looks);
    out.waited = now_ - end;
    out.looks = looks.count;
    return out;
  }
  // The mean wait of so many.
  Duration waited(int batches, Duration takes) {
    Duration sum{};
    for (int i = 0; i < batches; ++i) sum += batch(takes, takes).waited;
    return sum / batches;
  }

 private:
  Duration oversleep_;
  base::TimePoint now_{1s};
  LookPlan plan_;
};

TEST(LookPlan, asks_shortly_before_the_end_where_sleeps_are_exact) {
  Asking asking(0us);
  for (int i = 0; i < 50; ++i) {
    const Asking::Outcome one = asking.batch(1ms, 1ms);
    EXPECT_LE(one.waited, 1us);
    EXPECT_GE(one.first, 900us) << "it does not spin for long";
    EXPECT_GE(one.looks, 2U);
  }
}

TEST(LookPlan, learns_how_much_too_long_sleeps_are) {
  Asking asking(300us);
  EXPECT_EQ(asking.batch(1ms, 1ms).waited, 200us);
  asking.waited(100, 1ms);
  EXPECT_LT(asking.waited(20, 1ms), 40us);
  asking.set_oversleep(0us);
  asking.waited(100, 1ms);
  EXPECT_GE(asking.batch(1ms, 1ms).first, 900us) << "and that they are not any more";
}

TEST(LookPlan, is_never_earlier_than_a_tenth_of_what_is_expected) {
  Asking asking(100ms);
  asking.waited(200, 1ms);
  EXPECT_EQ(asking.batch(1ms, 1ms).first, 100us);
}

TEST(LookPlan, who_is_late_is_asked_in_intervals) {
  const base::TimePoint start{1s};
  Looks looks = LookPlan().plan(start, 800us);
  EXPECT_EQ(looks.first, start + 720us);
  EXPECT_EQ(LookPlan::next(looks, start), looks.first);
  LookPlan::look(looks, start);
  EXPECT_EQ(looks.count, 0U) << "nobody has to be asked yet, and it does not matter";
  const base::TimePoint overslept = looks.first + 500us;
  EXPECT_LE(LookPlan::next(looks, overslept), overslept) << "at once";
  LookPlan::look(looks, overslept);
  const base::TimePoint last = overslept + 20us + 100us;
  EXPECT_LE(LookPlan::next(looks, last - 1ns), last - 1ns);
  EXPECT_EQ(LookPlan::next(looks, last), last + 20us);
}

TEST(WorkerPool, expects_of_its_threads_what_was_measured) {
  base::ManualClock clock;
  WorkerPool pool({.threads = 2}, clock);
  pool.measured(MiB, 1ms);
  expect_near(pool.estimate(4 * MiB), 4ms, 0.001);
  pool.measured(64 * KiB - 1, 1s);
  pool.measured(MiB, 0ns);
  expect_near(pool.estimate(4 * MiB), 4ms, 0.001);
}

// The host's card, which takes as long as it is told.
class TimedCard final : public Card {
 public:
  TimedCard(base::ManualClock& clock, const Speed& speed) : clock_(clock), speed_(speed) {}
  [[nodiscard]] std::string name() const override { return "timed"; }
  base::Result<void> open(const CardLimits& limits) override {
    bytes_.assign(limits.slots, 0);
    return host_.open(limits);
  }
  void close() override { host_.close(); }
  void gather(unsigned slot, const CardWork& work) override {
    bytes_[slot] = 0;
    for (const CardWork::Piece& piece : work.pieces) bytes_[slot] += piece.from.size();
    host_.gather(slot, work);
  }
  base::Result<void> load(unsigned slot) override { return host_.load(slot); }
  base::Result<void> run(unsigned slot) override {
    clock_.advance(speed_.of(bytes_[slot]));
    return host_.run(slot);
  }
  base::Result<void> slide(unsigned slot, const SlidingWindow& window) override {
    return host_.slide(slot, window);
  }
  base::Result<std::vector<std::uint64_t>> slide_cuts(unsigned slot) override {
    return host_.slide_cuts(slot);
  }
  base::Result<bool> finished(unsigned slot) override { return host_.finished(slot); }
  [[nodiscard]] std::span<const card::Record> records(unsigned slot) override { return host_.records(slot); }

 private:
  base::ManualClock& clock_;
  const Speed speed_;
  HostCard host_;
  std::vector<std::uint64_t> bytes_;
};

// Jumps by an hour for a thread that is interrupted, as for one that is kept from its processor then.
class JumpingClock final : public base::Clock {
 public:
  [[nodiscard]] base::TimePoint now() const override {
    std::thread::id self = std::this_thread::get_id();
    if (interrupted_.compare_exchange_strong(self, std::thread::id())) clock_.advance(1h);
    return clock_.now();
  }
  [[nodiscard]] base::WallTime wall() const override { return clock_.wall(); }
  void interrupt() { interrupted_ = std::this_thread::get_id(); }

 private:
  mutable base::ManualClock clock_;
  mutable std::atomic<std::thread::id> interrupted_{};
};

class InterruptedCard final : public Card {
 public:
  enum class When : std::uint8_t { before_it_runs, behind_an_answer };
  InterruptedCard(JumpingClock& clock, When when) : clock_(clock), when_(when) {}
  [[nodiscard]] std::string name() const override { return "interrupted"; }
  base::Result<void> open(const CardLimits& limits) override { return host_.open(limits); }
  void close() override { host_.close(); }
  void gather(unsigned slot, const CardWork& work) override {
    host_.gather(slot, work);
    if (when_ == When::before_it_runs) clock_.interrupt();
  }
  base::Result<void> load(unsigned slot) override { return host_.load(slot); }
  base::Result<void> run(unsigned slot) override { return host_.run(slot); }
  base::Result<void> slide(unsigned slot, const SlidingWindow& window) override {
    return host_.slide(slot, window);
  }
  base::Result<std::vector<std::uint64_t>> slide_cuts(unsigned slot) override {
    return host_.slide_cuts(slot);
  }
  base::Result<bool> finished(unsigned slot) override {
    if (std::exchange(was_asked_, true)) return host_.finished(slot);
    if (when_ == When::behind_an_answer) clock_.interrupt();
    return false;
  }
  [[nodiscard]] std::span<const card::Record> records(unsigned slot) override { return host_.records(slot); }

 private:
  JumpingClock& clock_;
  const When when_;
  HostCard host_;
  bool was_asked_ = false;
};

class InterruptedCardTest : public testing::TestWithParam<InterruptedCard::When> {};

TEST_P(InterruptedCardTest, is_not_taken_for_late) {
  JumpingClock clock;
  std::vector<std::unique_ptr<Card>> cards;
  cards.push_back(std::make_unique<InterruptedCard>(clock, GetParam()));
  EngineOptions options;
  options.workers = 1;
  options.cards.limits = {.slots = 2, .slot_bytes = 4 << 20, .streams_max = 64};
  const auto engine = Engine::create(options, clock, std::move(cards)).value();
  const Key key;
  const ChunkParams params = ChunkParams::by_content({4096, 16384, 65536}, key).value();
  const base::Bytes data = test::random_bytes(1 << 20, 42);
  CpuHasher own(clock);
  const auto result =
      engine->run({.params = &params, .key = key, .spans = {base::BytesView(data)}}, own, EngineMode::card);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->choice.where, Where::card);
  EXPECT_EQ(engine->stats().cards.at(0).failures, 0U);
  engine->stop();
}
INSTANTIATE_TEST_SUITE_P(When, InterruptedCardTest,
                         testing::Values(InterruptedCard::When::before_it_runs,
                                         InterruptedCard::When::behind_an_answer));

// Cores take no time by this clock, and so are expected to do what is guessed of them: 2 GB/s.
class PlacementTest : public testing::Test {
 protected:
  ~PlacementTest() override {
    if (engine_) engine_->stop();
  }
  void make_engine(const std::vector<Speed>& speeds) {
    std::vector<std::unique_ptr<Card>> cards;
    cards.reserve(speeds.size());
    for (const Speed& speed : speeds) cards.push_back(std::make_unique<TimedCard>(clock_, speed));
    EngineOptions options;
    options.workers = 1;
    options.cards.limits = {.slots = 2, .slot_bytes = 4 << 20, .streams_max = 64};
    options.cards.late_after = 1h;
    options.cards.measure_after = measure_after_;
    engine_ = Engine::create(options, clock_, std::move(cards)).value();
  }
  Choice place(std::size_t bytes) {
    const Job job{.params = &params_, .key = key_, .spans = {base::BytesView(data_).first(bytes)}};
    const auto result = engine_->run(job, own_, EngineMode::automatic);
    EXPECT_TRUE(result);
    return result ? result->choice : Choice{};
  }
  bool on_card(std::size_t bytes) { return place(bytes).where == Where::card; }

  static constexpr std::size_t small = 400'000, large = 3'500'000;
  base::ManualClock clock_;
  Duration measure_after_ = 1h;
  const Key key_;
  const ChunkParams params_ = ChunkParams::by_content({4096, 16384, 65536}, key_).value();
  const base::Bytes data_ = test::random_bytes(large, 41);
  CpuHasher own_{clock_};
  std::unique_ptr<Engine> engine_;
};

TEST_F(PlacementTest, a_card_gets_what_it_does_sooner_and_cores_the_rest) {
  // Cores take 200 us for the small one and 1,750 for the large one; the card 1,004 and 1,035.
  make_engine({{1ms, 100}});
  EXPECT_TRUE(on_card(large)) << "by the guess";
  EXPECT_TRUE(on_card(small)) << "nobody knows yet that it is the batch that takes long, not the byte";
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(on_card(small)) << i;
    EXPECT_TRUE(on_card(large)) << i;
  }
  const Choice choice = place(large);
  expect_near(choice.on_card, 1035us, 0.01);
  expect_near(choice.on_cores, 1750us, 0.01);
  EXPECT_EQ(choice.reason, Reason::sooner);
  const CardStats card = engine_->stats().cards.at(0);
  expect_near(card.fixed, 1ms, 0.01);
  EXPECT_NEAR(card.gb_per_second, 100, 5);
}

TEST_F(PlacementTest, of_two_cards_the_one_that_is_done_first) {
  make_engine({{1ms, 100}, {100us, 20}});
  EXPECT_EQ(place(large).card, 0U) << "the guess is the same";
  EXPECT_EQ(place(large).card, 1U);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(place(large).card, 1U) << i;
  EXPECT_EQ(engine_->stats().cards.at(0).jobs, 1U);
}

TEST_F(PlacementTest, a_card_that_was_too_slow_is_measured_after_a_while_and_used_again) {
  measure_after_ = 10s;
  make_engine({{0us, 0.1}});
  EXPECT_TRUE(on_card(large)) << "35 ms: it is slow";
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(on_card(large)) << i;
  clock_.advance(9s);
  EXPECT_FALSE(on_card(large));
  clock_.advance(1s);
  const Choice measured = place(large);
  EXPECT_EQ(measured.where, Where::card);
  EXPECT_EQ(measured.reason, Reason::measured);
  EXPECT_FALSE(on_card(large)) << "once in that time";
}

}  // namespace
}  // namespace braid::hashing
