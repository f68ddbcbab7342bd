// The card's code, run by the host, against the CPU's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "hashing/card_batch.h"
#include "hashing/cpu_hasher.h"
#include "hashing/host/host_card.h"
#include "hashing/job_parts.h"
#include "tests/unit/hashing/random_data.h"

namespace braid::hashing {
namespace {

class OnTheCard : public testing::Test {
 protected:
  OnTheCard() { EXPECT_TRUE(card.open(limits).has_value()); }

  // The results of these jobs in one batch.
  std::vector<JobResult> run(const std::vector<Job>& jobs) {
    std::vector<Task> tasks(jobs.size());
    CardBatch batch(limits);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      tasks[i].job = jobs[i];
      tasks[i].bytes = checked_bytes(jobs[i]).value();
      EXPECT_TRUE(CardBatch::suits(jobs[i], tasks[i].bytes, limits));
      EXPECT_TRUE(batch.add(&tasks[i])) << i;
    }
    EXPECT_TRUE(card.start(0, batch.finish()).has_value());
    EXPECT_TRUE(batch.read(card.records(0), checks));
    std::vector<JobResult> out;
    for (Task& task : tasks) out.push_back(std::move(task.result.value()));
    return out;
  }
  void expect_as_cpu(const std::vector<Job>& jobs) {
    const auto results = run(jobs);
    CpuHasher cpu(clock);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const JobResult expected = cpu.run(jobs[i]).value();
      ASSERT_EQ(results[i].chunks, expected.chunks) << i;
      ASSERT_EQ(results[i].consumed, expected.consumed) << i;
    }
  }

  const CardLimits limits{.slots = 1, .slot_bytes = 4 << 20, .streams_max = 64};
  const base::SystemClock clock;
  HostCard card;
  ResultChecks checks{1};
  const Key key = Key::from(test::random_bytes(32, 1)).value();
  const ChunkParams content = ChunkParams::by_content({4096, 16384, 65536}, key).value();
  const ChunkParams low_prefilter = ChunkParams::by_content({4096, 8192, 12345}, key).value();
  const ChunkParams fixed = ChunkParams::fixed(4096).value();
  const base::Bytes data = test::random_bytes(2 << 20, 2);
};

TEST_F(OnTheCard, streams_of_all_lengths_give_the_cpus_chunks) {
  std::mt19937_64 random(3);
  for (const ChunkParams* params : {&content, &low_prefilter, &fixed})
    for (int round = 0; round < 6; ++round) {
      std::vector<Job> jobs;
      for (int i = 0; i < 12; ++i) {
        const std::size_t length = random() % (std::size_t{1} << (2 + random() % 16));
        const std::size_t at = random() % (data.size() - length);
        jobs.push_back({.work = i % 5 == 0 ? Work::chunk : Work::chunk_and_hash,
                        .params = params,
                        .key = key,
                        .spans = {base::BytesView(data).subspan(at, length)},
                        .stream_offset = random() % 100'000,
                        .is_end = random() % 2 == 0});
      }
      expect_as_cpu(jobs);
    }
}

TEST_F(OnTheCard, messages_and_streams_share_a_batch) {
  std::mt19937_64 random(4);
  for (const Algorithm algorithm : {Algorithm::blake3, Algorithm::md5_tree}) {
    Job messages{.work = Work::hash, .algorithm = algorithm, .key = key, .stream_offset = 77};
    for (const std::size_t length :
         std::initializer_list<std::size_t>{0, 1, 55, 56, 63, 64, 65, 1023, 1024, 1025, 4096, 4097, 5000,
                                            3 * 4096, 4 * 4096, 5 * 4096, 100'000, 1'000'000})
      messages.spans.push_back(base::BytesView(data).subspan(random() % 1000, length));
    const Job stream{.algorithm = algorithm,
                     .params = &content,
                     .key = key,
                     .spans = {base::BytesView(data).first(500'000)}};
    expect_as_cpu({messages, stream, messages});
  }
}

TEST_F(OnTheCard, the_sliding_window_has_the_cpus_cuts) {
  for (const SlidingWindow window :
       {SlidingWindow{20, 1, 8}, SlidingWindow{55, 7, 5}, SlidingWindow{1, 64, 1}})
    for (const std::size_t length : std::initializer_list<std::size_t>{1, 19, 20, 64, 100, 30'001}) {
      const base::BytesView bytes = base::BytesView(data).subspan(5, length);
      run({Job{.work = Work::hash, .key = key, .spans = {bytes}}});
      ASSERT_TRUE(card.slide(0, window).has_value());
      EXPECT_EQ(card.slide_cuts(0).value(), sliding_cuts(window, bytes).value()) << length;
    }
  EXPECT_EQ(card.slide(0, {.window = 56}).error(), base::errno_of(EINVAL));
}

TEST_F(OnTheCard, steps_may_be_repeated_on_what_was_loaded) {
  for (const Algorithm algorithm : {Algorithm::blake3, Algorithm::md5_tree}) {
    Task task;
    task.job = {.algorithm = algorithm, .params = &content, .key = key, .spans = {data}};
    task.bytes = data.size();
    CardBatch batch(limits);
    ASSERT_TRUE(batch.add(&task));
    ASSERT_TRUE(card.start(0, batch.finish()).has_value());
    ASSERT_TRUE(card.run(0).has_value());
    ASSERT_TRUE(batch.read(card.records(0), checks));
    EXPECT_EQ(task.result->chunks, CpuHasher(clock).run(task.job).value().chunks);
  }
}

TEST_F(OnTheCard, constant_and_scattered_bytes_give_the_cpus_chunks) {
  for (const int byte : {0, 1, 0xff}) {
    const base::Bytes constant(300'000, static_cast<std::byte>(byte));
    expect_as_cpu({Job{.params = &content, .key = key, .spans = {constant}}});
  }
  Job scattered{.params = &content, .key = key};
  for (std::size_t at = 0; at < 900'000; at += 997)
    scattered.spans.push_back(base::BytesView(data).subspan(at, 997));
  expect_as_cpu({scattered});
}

TEST_F(OnTheCard, jobs_that_do_not_fit_or_do_not_match_are_left_out_of_a_batch) {
  Task first, other_key, other_params, too_large;
  first.job = {.params = &content, .key = key, .spans = {base::BytesView(data).first(1000)}};
  other_key.job = {.params = &content, .spans = {base::BytesView(data).first(1000)}};
  other_params.job = {.params = &fixed, .key = key, .spans = {base::BytesView(data).first(1000)}};
  const base::Bytes large(limits.slot_bytes);
  too_large.job = {.params = &content, .key = key, .spans = {large}};
  for (Task* task : {&first, &other_key, &other_params, &too_large})
    task->bytes = checked_bytes(task->job).value();
  CardBatch batch(limits);
  EXPECT_TRUE(batch.add(&first));
  EXPECT_FALSE(batch.add(&other_key));
  EXPECT_FALSE(batch.add(&other_params));
  EXPECT_FALSE(batch.add(&too_large));
  EXPECT_EQ(batch.tasks().size(), 1u);
  Task other_algorithm;
  other_algorithm.job = first.job;
  other_algorithm.job.algorithm = Algorithm::md5_tree;
  EXPECT_FALSE(batch.add(&other_algorithm));
  Job sha = first.job;
  sha.algorithm = Algorithm::sha256_tree;
  EXPECT_FALSE(CardBatch::suits(sha, 1000, limits));
  EXPECT_FALSE(CardBatch::suits(first.job, limits.slot_bytes + 1, limits));
}

TEST_F(OnTheCard, records_that_no_input_gives_are_not_believed) {
  Task task;
  task.job = {.params = &content, .key = key, .spans = {base::BytesView(data).first(300'000)}};
  task.bytes = 300'000;
  CardBatch batch(limits);
  ASSERT_TRUE(batch.add(&task));
  ASSERT_TRUE(card.start(0, batch.finish()).has_value());
  const std::vector<card::Record> right(card.records(0).begin(), card.records(0).end());
  ASSERT_TRUE(batch.read(right, checks));
  const auto spoilt = [&](auto change) {
    auto records = right;
    change(records);
    return batch.read(records, checks);
  };
  EXPECT_FALSE(spoilt([](auto& r) { r[0].length += 1; }));
  EXPECT_FALSE(spoilt([](auto& r) { r[1].length = 0x7fffffff; }));
  EXPECT_FALSE(spoilt([](auto& r) { r[1].begin += 64; }));
  EXPECT_FALSE(spoilt([](auto& r) { r[2].flags = 0; }));
  EXPECT_FALSE(spoilt([](auto& r) { r[0].id[7] ^= 1; }));
  EXPECT_FALSE(spoilt([](auto& r) { r.pop_back(); }));
}

// Joins a job's parts as the engine does, each cut by itself.
JobResult joined(const Job& job, std::size_t bytes, std::size_t part_bytes, std::size_t stretch_bytes,
                 CpuHasher& cpu) {
  JobResult all;
  JobParts parts(job, bytes, part_bytes);
  std::uint64_t covered = 0;
  for (std::size_t i = 0; i < parts.count(); ++i) {
    EXPECT_EQ(parts.bytes_of(i), checked_bytes(parts.part(i)).value());
    covered += parts.bytes_of(i);
    const JobResult guess = cpu.run(parts.part(i)).value();
    while (!parts.adopt(i, guess, all) && parts.left_of(i) > 0) {
      const Job stretch = parts.stretch(std::min<std::uint64_t>(stretch_bytes, parts.left_of(i)));
      if (!parts.add(cpu.run_until(stretch, guess.chunks).value(), all)) break;
    }
  }
  EXPECT_EQ(covered, bytes);
  return all;
}

TEST(JobParts, together_give_what_the_whole_job_gives) {
  const base::SystemClock clock;
  CpuHasher cpu(clock);
  const Key key;
  const ChunkParams content = ChunkParams::by_content({4096, 16384, 65536}, key).value();
  const ChunkParams fixed = ChunkParams::fixed(16384).value();
  const base::Bytes zeros(700'000), noise = test::random_bytes(1'500'000, 9);
  std::mt19937_64 random(10);
  for (const base::Bytes& data : {noise, zeros, base::Bytes(70'000), base::Bytes(1)})
    for (const ChunkParams* params : {&content, &fixed})
      for (const Work work : {Work::hash, Work::chunk, Work::chunk_and_hash})
        for (const bool is_end : {true, false}) {
          Job job{.work = work, .params = params, .key = key, .stream_offset = 12345, .is_end = is_end};
          for (std::size_t at = 0; at < data.size();) {
            const std::size_t take = std::min<std::size_t>(data.size() - at, random() % 90'000);
            job.spans.push_back(base::BytesView(data).subspan(at, take));
            at += take;
          }
          job.spans.emplace_back();
          const JobResult expected = cpu.run(job).value();
          for (const std::size_t part_bytes : std::initializer_list<std::size_t>{70'000, 200'000, 1 << 20}) {
            const JobResult all = joined(job, data.size(), part_bytes, 131072, cpu);
            ASSERT_EQ(all.chunks, expected.chunks) << data.size() << ' ' << part_bytes;
            ASSERT_EQ(all.consumed, expected.consumed);
          }
        }
}

}  // namespace
}  // namespace braid::hashing
