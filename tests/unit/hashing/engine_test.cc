// The engine: where jobs run, what is refused, and what happens when a card fails.
#include "hashing/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "hashing/cpu_hasher.h"
#include "hashing/host/host_card.h"
#include "tests/unit/hashing/engine_fixture.h"

namespace braid::hashing {
namespace {

// What a card is told to do wrong, and what it saw.
struct Script {
  std::atomic<int> opens{0}, starts{0}, closes{0};
  std::atomic<bool> refuse_open{false};
  std::atomic<bool> fail_start{false};
  std::atomic<bool> fail_finish{false};
  std::atomic<bool> wrong_id{false};
  std::atomic<int> polls_until_finished{0};  // of each slot
};

// A host card with faults.
class ScriptedCard final : public Card {
 public:
  explicit ScriptedCard(Script& script) : script_(script) {}
  [[nodiscard]] std::string name() const override { return "scripted"; }
  base::Result<void> open(const CardLimits& limits) override {
    ++script_.opens;
    polls_.assign(limits.slots, 0);
    if (script_.refuse_open) return base::fail(EIO);
    return host_.open(limits);
  }
  void close() override {
    ++script_.closes;
    host_.close();
  }
  void gather(unsigned slot, const CardWork& work) override { host_.gather(slot, work); }
  base::Result<void> load(unsigned slot) override { return host_.load(slot); }
  base::Result<void> run(unsigned slot) override {
    ++script_.starts;
    if (script_.fail_start) return base::fail(EIO);
    polls_[slot] = script_.polls_until_finished;
    return host_.run(slot);
  }
  base::Result<void> slide(unsigned slot, const SlidingWindow& window) override {
    return host_.slide(slot, window);
  }
  base::Result<std::vector<std::uint64_t>> slide_cuts(unsigned slot) override {
    return host_.slide_cuts(slot);
  }
  base::Result<bool> finished(unsigned slot) override {
    if (script_.fail_finish) return base::fail(EIO);
    return polls_[slot]-- <= 0;
  }
  [[nodiscard]] std::span<const card::Record> records(unsigned slot) override {
    const auto records = host_.records(slot);
    spoilt_.assign(records.begin(), records.end());
    if (script_.wrong_id) spoilt_[0].id[0] ^= 1;
    return spoilt_;
  }

 private:
  Script& script_;
  HostCard host_;
  std::vector<int> polls_;
  std::vector<card::Record> spoilt_;
};

class EngineTest : public test::EngineFixture {
 protected:
  void make_engine_with_cards(int count) {
    options.mode = EngineMode::card;
    std::vector<std::unique_ptr<Card>> cards;
    for (int i = 0; i < count; ++i) cards.push_back(std::make_unique<ScriptedCard>(script));
    make_engine(std::move(cards));
  }

  Script script;
};

TEST_F(EngineTest, small_jobs_run_at_once_and_large_ones_on_a_worker) {
  options.inline_bytes = 4096;
  make_engine();
  const auto results = submit({stream_job(0, 4096), stream_job(0, 4097)});
  EXPECT_EQ(results[0]->choice.where, Where::caller);
  EXPECT_EQ(results[1]->choice.where, Where::worker);
  EXPECT_EQ(engine->stats().jobs_inline, 1u);
  EXPECT_EQ(engine->stats().parts_worker, 1u);
}

TEST_F(EngineTest, every_place_gives_the_same_chunks) {
  for (const std::size_t inline_bytes : {std::size_t{0}, std::size_t{1} << 30}) {
    options.inline_bytes = inline_bytes;
    make_engine();
    const auto jobs = many_jobs(40);
    expect_right(jobs, submit(jobs));
    engine->stop();
  }
  options.inline_bytes = 0;
  make_engine_with_cards(2);
  const auto jobs = many_jobs(40);
  expect_right(jobs, submit(jobs));
  EXPECT_EQ(engine->stats().parts_card, 40u);
  for (const CardStats& card : engine->stats().cards) EXPECT_GT(card.batches, 0u);
}

TEST_F(EngineTest, a_thread_that_waits_gets_the_same_chunks_from_a_card_or_itself) {
  make_engine_with_cards(1);
  CpuHasher own(clock);
  const Job job = stream_job(0, 2 << 20);
  const auto expected = CpuHasher(clock).run(job);
  const auto on_card = engine->run(job, own, EngineMode::card);
  const auto alone = engine->run(job, own, EngineMode::cpu);
  EXPECT_EQ(on_card->chunks, expected->chunks);
  EXPECT_EQ(on_card->choice.where, Where::card);
  EXPECT_EQ(alone->chunks, expected->chunks);
  EXPECT_EQ(alone->choice.where, Where::caller);
  // No slot takes it.
  EXPECT_EQ(engine->run(stream_job(0, 5 << 20), own, EngineMode::card)->choice.where, Where::caller);
  engine->stop();
  const auto stopped = engine->run(job, own, EngineMode::card);
  EXPECT_EQ(stopped->chunks, expected->chunks);
  EXPECT_EQ(stopped->choice.where, Where::caller);
}

TEST_F(EngineTest, what_a_card_fails_at_is_done_for_a_thread_that_waits) {
  script.wrong_id = true;
  make_engine_with_cards(1);
  CpuHasher own(clock);
  const Job job = stream_job(0, 1 << 20);
  const auto result = engine->run(job, own, EngineMode::card);
  EXPECT_EQ(result->chunks, CpuHasher(clock).run(job)->chunks);
  EXPECT_EQ(result->choice.where, Where::worker);
  EXPECT_EQ(result->choice.reason, Reason::redone);
}

TEST_F(EngineTest, jobs_larger_than_a_slot_are_done_in_parts) {
  options.part_bytes = 4 << 20;
  make_engine_with_cards(1);
  const std::vector<Job> jobs{stream_job(0, data.size())};
  expect_right(jobs, submit(jobs));
  EXPECT_GE(engine->stats().parts_card, 3u);
}

// Random bytes, whose guessed parts soon have the true boundaries, and zeros, whose parts never have.
TEST_F(EngineTest, large_jobs_on_any_number_of_workers_and_cards_give_the_chunks_of_one) {
  const base::Bytes zeros(data.size());
  options.part_bytes = 4 << 20;
  options.mode = EngineMode::automatic;
  for (const unsigned workers : {1U, 2U, 5U})
    for (const int cards : {0, 1}) {
      options.workers = workers;
      std::vector<std::unique_ptr<Card>> some;
      for (int i = 0; i < cards; ++i) some.push_back(std::make_unique<ScriptedCard>(script));
      make_engine(std::move(some));
      std::vector<Job> jobs{stream_job(0, data.size()), stream_job(7, data.size() - 7),
                            stream_job(0, data.size())};
      jobs[1].is_end = false;
      jobs[2].spans = {zeros};
      expect_right(jobs, submit(jobs));
      EXPECT_GT(engine->stats().parts_worker + engine->stats().parts_card, 8u);
      engine->stop();
    }
}

TEST_F(EngineTest, jobs_that_wait_together_share_batches) {
  script.polls_until_finished = 20;
  make_engine_with_cards(1);
  const auto jobs = many_jobs(60);
  expect_right(jobs, submit(jobs));
  EXPECT_LT(engine->stats().cards[0].batches, 30u);
  EXPECT_EQ(engine->stats().cards[0].jobs, 60u);
}

TEST(TaskQueue, is_due_when_its_first_task_has_waited_or_has_a_deadline) {
  const base::TimePoint start{std::chrono::seconds(5)};
  const auto us = [](int n) { return std::chrono::microseconds(n); };
  Task background, normal, urgent, early;
  for (Task* task : {&background, &normal, &urgent, &early}) task->submitted = start;
  background.job.priority = Priority::background;
  urgent.job.priority = Priority::urgent;
  early.job.deadline = start + us(30);
  TaskQueue queue(us(200));
  queue.push(&background);
  queue.push(&normal);
  EXPECT_EQ(queue.due(), start + us(200));
  queue.push(&urgent);
  EXPECT_EQ(queue.due(), start + us(100));
  queue.push(&early);
  EXPECT_EQ(queue.due(), start + us(30));
  EXPECT_EQ(queue.pop(), &urgent);
  EXPECT_EQ(queue.pop(), &normal);
  EXPECT_EQ(queue.pop(), &early);
  EXPECT_EQ(queue.due(), start + us(200));
  EXPECT_EQ(queue.pop(), &background);
  EXPECT_EQ(queue.pop(), nullptr);
}

TEST_F(EngineTest, what_a_card_fails_at_is_done_by_the_cpu_and_the_card_is_left_alone) {
  for (auto* fault : {&script.fail_start, &script.fail_finish, &script.wrong_id}) {
    *fault = true;
    make_engine_with_cards(1);
    const auto jobs = many_jobs(20);
    const auto results = submit(jobs);
    expect_right(jobs, results);
    for (const auto& result : results) EXPECT_EQ(result->choice.where, Where::worker);
    const CardStats card = engine->stats().cards[0];
    EXPECT_TRUE(card.quarantined);
    EXPECT_EQ(card.failures, 1u);
    EXPECT_EQ(card.wrong, fault == &script.wrong_id ? 1u : 0u);
    const int starts = script.starts;
    expect_right(jobs, submit(jobs));
    EXPECT_EQ(script.starts, starts);
    engine->stop();
    *fault = false;
  }
}

TEST_F(EngineTest, a_card_is_tried_again_after_its_quarantine) {
  options.cards.first_quarantine = std::chrono::milliseconds(1);
  script.refuse_open = true;
  make_engine_with_cards(1);
  const auto jobs = many_jobs(3);
  expect_right(jobs, submit(jobs));
  script.refuse_open = false;
  while (engine->stats().cards[0].quarantined) std::this_thread::yield();
  const auto results = submit(jobs);
  expect_right(jobs, results);
  for (const auto& result : results) EXPECT_EQ(result->choice.where, Where::card);
  EXPECT_GE(script.opens, 2);
}

TEST_F(EngineTest, wrong_jobs_end_with_an_error) {
  make_engine();
  const base::BytesView good = base::BytesView(data).first(100);
  const auto* nowhere = reinterpret_cast<const std::byte*>(~std::uintptr_t{0} - 10);
  const std::vector<Job> jobs{
      {.spans = {good}},  // to be cut without parameters
      {.work = Work::hash, .spans = {base::BytesView(static_cast<const std::byte*>(nullptr), 5)}},
      {.work = Work::hash, .spans = {base::BytesView(nowhere, 100)}},  // wraps
      {.params = &params, .spans = {good}, .stream_offset = ~std::uint64_t{50}},
      {.work = Work::hash, .spans = {base::BytesView(data.data(), std::size_t{1} << 32)}},
  };
  const auto results = submit(jobs);
  EXPECT_EQ(results[0].error(), base::errno_of(EINVAL));
  EXPECT_EQ(results[1].error(), base::errno_of(EINVAL));
  EXPECT_EQ(results[2].error(), base::errno_of(EINVAL));
  EXPECT_EQ(results[3].error(), base::errno_of(EOVERFLOW));
  EXPECT_EQ(results[4].error(), base::errno_of(EFBIG));
}

TEST_F(EngineTest, empty_and_overlapping_input_is_no_error) {
  make_engine();
  const base::BytesView view(data);
  const auto results =
      submit({Job{.params = &params, .key = key},
              Job{.work = Work::hash, .key = key, .spans = {base::BytesView(), view.first(1)}},
              Job{.params = &params, .key = key, .spans = {view.first(3000), view.subspan(1000, 3000)}}});
  Blake3Batch scratch;
  EXPECT_TRUE(results[0]->chunks.empty());
  ASSERT_EQ(results[1]->chunks.size(), 2u);
  EXPECT_EQ(results[1]->chunks[0].id, CpuHasher::id_of(Algorithm::blake3, key, {}, scratch).value());
  base::Bytes joined(view.begin(), view.begin() + 3000);
  joined.insert(joined.end(), view.begin() + 1000, view.begin() + 4000);
  ASSERT_EQ(results[2]->chunks.size(), 1u);
  EXPECT_EQ(results[2]->chunks[0].id, CpuHasher::id_of(Algorithm::blake3, key, joined, scratch).value());
}

TEST_F(EngineTest, a_full_queue_refuses_and_a_stopped_engine_says_so) {
  options.workers = 1;
  options.queue_bytes_max = 1;
  make_engine();
  std::size_t refused = 0;
  std::size_t taken = 0;
  // A worker may take each job before the next one comes.
  while (refused == 0)
    for (const auto& result : submit(many_jobs(50))) {
      if (result) {
        ++taken;
        continue;
      }
      EXPECT_EQ(result.error(), base::errno_of(EAGAIN));
      ++refused;
    }
  EXPECT_GT(taken, 0u);
  EXPECT_EQ(engine->stats().refused, refused);
  engine->stop();
  EXPECT_EQ(submit({stream_job(0, 100'000)})[0].error(), base::errno_of(ESHUTDOWN));
}

TEST_F(EngineTest, sha256_never_goes_to_a_card) {
  make_engine_with_cards(1);
  std::vector<Job> jobs = many_jobs(4);
  jobs[0].algorithm = Algorithm::sha256_tree;
  jobs[1].algorithm = Algorithm::md5_tree;
  const auto results = submit(jobs);
  expect_right(jobs, results);
  EXPECT_EQ(results[0]->choice.where, Where::worker);
  EXPECT_EQ(results[1]->choice.where, Where::card);
  EXPECT_EQ(results[2]->choice.where, Where::card);
}

TEST_F(EngineTest, a_result_says_why_it_ran_where_it_did) {
  const auto reason_of = [this](const Job& job) { return submit({job})[0]->choice.reason; };
  const Job job = stream_job(0, 1'000'000);
  make_engine();
  EXPECT_EQ(reason_of(job), Reason::no_card);
  engine->stop();
  options.inline_bytes = 1'000'000;
  make_engine();
  EXPECT_EQ(reason_of(job), Reason::small);
  engine->stop();
  options.inline_bytes = 0;
  make_engine_with_cards(2);
  const auto on_card = submit({job})[0]->choice;
  EXPECT_EQ(on_card.reason, Reason::told);
  EXPECT_GT(on_card.on_card.count(), 0);
  EXPECT_GT(on_card.on_cores.count(), 0);
  EXPECT_LT(on_card.card, 2u);
  Job sha = job;
  sha.algorithm = Algorithm::sha256_tree;
  EXPECT_EQ(reason_of(sha), Reason::unsuited);
  engine->stop();
  options.cards.queue_bytes_max = 1;
  make_engine_with_cards(1);
  EXPECT_EQ(reason_of(job), Reason::full);
  engine->stop();
  options.cards.queue_bytes_max = 1U << 28;
  script.fail_finish = true;
  make_engine_with_cards(1);
  EXPECT_EQ(reason_of(job), Reason::redone);
  EXPECT_EQ(reason_of(job), Reason::out_of_use);
  engine->stop();
  script.fail_finish = false;
}

// The host does a card's work many times slower than its own. By the first guesses a card takes 40 us for
// what takes a core 5, and is twenty times as fast.
TEST_F(EngineTest, a_card_that_is_slower_than_the_cores_is_used_only_to_measure_it) {
  for (const auto measure_after : {base::Duration(std::chrono::hours(1)), base::Duration::zero()}) {
    SCOPED_TRACE(measure_after.count());
    options.cards.measure_after = measure_after;
    options.mode = EngineMode::automatic;
    std::vector<std::unique_ptr<Card>> cards;
    cards.push_back(std::make_unique<ScriptedCard>(script));
    make_engine(std::move(cards));
    const auto choice_of = [this](std::size_t bytes) { return submit({stream_job(0, bytes)})[0]->choice; };
    const Choice first = choice_of(3'000'000);
    EXPECT_EQ(first.where, Where::card);
    EXPECT_EQ(first.reason, Reason::sooner);
    EXPECT_GT(first.on_cores, first.on_card);
    const Choice second = choice_of(3'000'000);
    EXPECT_LT(second.on_cores, second.on_card);
    const bool again = measure_after == base::Duration::zero();
    EXPECT_EQ(second.where, again ? Where::card : Where::worker);
    EXPECT_EQ(second.reason, again ? Reason::measured : Reason::sooner);
    engine->stop();
  }
}

TEST_F(EngineTest, options_outside_their_limits_are_refused) {
  const auto refused = [this](auto change) {
    EngineOptions wrong = options;
    change(wrong);
    return !Engine::create(wrong, clock).has_value();
  };
  EXPECT_TRUE(refused([](auto& o) { o.part_bytes = 1 << 20; }));
  EXPECT_TRUE(refused([](auto& o) { o.cards.limits.slots = 0; }));
  EXPECT_TRUE(refused([](auto& o) { o.cards.limits.slot_bytes = 1 << 20; }));
  EXPECT_TRUE(refused([](auto& o) { o.cards.verify_one_in = 0; }));
  EXPECT_FALSE(refused([](auto&) {}));
}

}  // namespace
}  // namespace braid::hashing
