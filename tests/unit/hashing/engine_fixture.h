// An engine on a reactor, and jobs for it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <latch>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "hashing/cpu_hasher.h"
#include "hashing/engine.h"
#include "io/gate.h"
#include "io/reactor.h"
#include "tests/unit/hashing/random_data.h"

namespace braid::hashing::test {

class EngineFixture : public testing::Test {
 protected:
  EngineFixture() : reactor_(io::Reactor::create({}, clock).value()), thread_([this] { reactor_->run(); }) {
    options.cards.limits = {.slots = 3, .slot_bytes = 4 << 20, .streams_max = 64};
    options.cards.verify_one_in = 1;
    options.cards.first_quarantine = std::chrono::hours(1);
    options.cards.late_after = std::chrono::hours(1);  // a card is a thread of a machine that may be slow
    options.cards.measure_after = std::chrono::hours(1);
    options.inline_bytes = 0;
    options.workers = 2;
  }
  ~EngineFixture() override {
    if (engine) engine->stop();
    reactor_->stop();
  }

  void make_engine(std::vector<std::unique_ptr<Card>> cards = {}) {
    engine = Engine::create(options, clock, std::move(cards)).value();
  }
  // Submits all jobs at once on the reactor and waits for all results.
  std::vector<base::Result<JobResult>> submit(const std::vector<Job>& jobs) {
    return submit_then(jobs, [] {});
  }
  // The engine is stopped, on this thread, when all are submitted.
  std::vector<base::Result<JobResult>> submit_and_stop(const std::vector<Job>& jobs) {
    return submit_then(jobs, [this] { engine->stop(); });
  }
  // `then` runs on this thread when all are submitted.
  template <class Then>
  std::vector<base::Result<JobResult>> submit_then(const std::vector<Job>& jobs, Then then) {
    std::vector<base::Result<JobResult>> results(jobs.size(), base::fail(EINPROGRESS));
    // Who submits counts, too: it looks at the jobs after the last one may have ended.
    const auto left = std::make_shared<std::latch>(static_cast<std::ptrdiff_t>(jobs.size() + 1));
    std::latch submitted(1);
    reactor_->post(std::function<void()>([&, left] {
      for (std::size_t i = 0; i < jobs.size(); ++i) io::spawn(gate_, one(*engine, jobs[i], results[i], left));
      submitted.count_down();
      left->count_down();
    }));
    submitted.wait();
    then();
    left->wait();
    return results;
  }
  static io::Op<> one(Engine& engine, Job job, base::Result<JobResult>& result,
                      std::shared_ptr<std::latch> left) {
    result = co_await engine.submit(std::move(job)).as_result();
    left->count_down();
  }
  Job stream_job(std::size_t at, std::size_t length) const {
    return {.params = &params, .key = key, .spans = {base::BytesView(data).subspan(at, length)}};
  }
  // Of so many bytes each, and some more.
  std::vector<Job> many_jobs(std::size_t count, std::size_t bytes = 100'000) const {
    std::vector<Job> jobs;
    for (std::size_t i = 0; i < count; ++i) {
      jobs.push_back(stream_job(i * 1000, bytes + i * 777));
      jobs.back().priority = static_cast<Priority>(i % 3);
    }
    return jobs;
  }
  void expect_right(const std::vector<Job>& jobs, const std::vector<base::Result<JobResult>>& results) {
    CpuHasher cpu(clock);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      ASSERT_TRUE(results[i].has_value()) << i;
      ASSERT_EQ(results[i]->chunks, cpu.run(jobs[i]).value().chunks) << i;
    }
  }

  const base::SystemClock clock;
  const Key key;
  const ChunkParams params = ChunkParams::by_content({4096, 16384, 65536}, key).value();
  static inline const base::Bytes data = test::random_bytes(9'500'000, 40);
  EngineOptions options;
  std::unique_ptr<Engine> engine;

 private:
  io::Gate gate_;
  std::unique_ptr<io::Reactor> reactor_;
  std::jthread thread_;
};

}  // namespace braid::hashing::test
