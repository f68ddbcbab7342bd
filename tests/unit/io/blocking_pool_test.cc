#include "io/blocking_pool.h"

#include <gtest/gtest.h>

#include <latch>
#include <memory>

#include "io/gate.h"

namespace braid::io {
namespace {

class BlockingPoolTest : public testing::Test {
 protected:
  BlockingPoolTest() : reactor_(Reactor::create({}, clock_).value()) {}
  template <class Body>
  void run(Body body) {
    auto rest = [this](Body run_body) -> Op<> {
      co_await run_body();
      reactor_->stop();
    };
    reactor_->post(std::function<void()>([&] { spawn(gate_, rest(body)); }));
    reactor_->run();
  }
  base::SystemClock clock_;
  std::unique_ptr<Reactor> reactor_;
  Gate gate_;
};

TEST_F(BlockingPoolTest, a_job_runs_elsewhere_and_its_caller_resumes_at_home) {
  BlockingPool pool({});
  run([&]() -> Op<> {
    const auto home = std::this_thread::get_id();
    auto where =
        co_await pool.own().run(*reactor_, BlockingReason::read, [] { return std::this_thread::get_id(); });
    EXPECT_TRUE(where.has_value());
    EXPECT_NE(*where, home);
    EXPECT_EQ(std::this_thread::get_id(), home);
  });
  pool.stop();
  EXPECT_EQ(pool.stats().jobs[static_cast<std::size_t>(BlockingReason::read)], 1U);
}

TEST_F(BlockingPoolTest, jobs_run_side_by_side_up_to_the_thread_bound) {
  BlockingPool pool({.threads_max = 3});
  std::latch all(3);
  run([&]() -> Op<> {
    auto job = [](BlockingPool& in, Reactor& reactor, std::latch& latch) -> Op<> {
      (void)co_await in.own().run(reactor, BlockingReason::other, [&] {
        latch.arrive_and_wait();  // returns only if three jobs run at once
        return 0;
      });
    };
    Gate jobs;
    for (int i = 0; i < 3; ++i) spawn(jobs, job(pool, *reactor_, all));
    co_await jobs.drained();
  });
  EXPECT_LE(pool.stats().threads, 3U);
}

TEST_F(BlockingPoolTest, a_group_outlives_its_pool) {
  std::optional<BlockingPool> pool(std::in_place, BlockingPoolOptions{});
  BlockingGroup group(*pool, "/export");
  run([&]() -> Op<> {
    EXPECT_TRUE((co_await group.run(*reactor_, BlockingReason::read, [] { return 1; })).has_value());
    pool.reset();
    EXPECT_FALSE((co_await group.run(*reactor_, BlockingReason::read, [] { return 1; })).has_value());
  });
}

TEST_F(BlockingPoolTest, a_full_queue_refuses_instead_of_growing) {
  BlockingPool pool({.threads_max = 1, .queue_max = 1});
  std::latch release(1);
  std::latch started(1);
  int refused = 0;
  run([&]() -> Op<> {
    auto job = [](BlockingPool& in, Reactor& reactor, std::latch& begun, std::latch& wait) -> Op<> {
      (void)co_await in.own().run(reactor, BlockingReason::other, [&] {
        begun.count_down();
        wait.wait();
        return 0;
      });
    };
    auto quick = [](BlockingPool& in, Reactor& reactor, int& count) -> Op<> {
      const auto ran = co_await in.own().run(reactor, BlockingReason::other, [] { return 0; });
      if (!ran) ++count;
    };
    Gate jobs;
    spawn(jobs, job(pool, *reactor_, started, release));
    started.wait();
    for (int i = 0; i < 3; ++i) spawn(jobs, quick(pool, *reactor_, refused));
    release.count_down();
    co_await jobs.drained();
  });
  EXPECT_EQ(refused, 2);
  EXPECT_EQ(pool.stats().refused, 2U);
}

// Each job waits for `release`, so that a group whose disk hangs has all that it may have.
TEST_F(BlockingPoolTest, a_group_whose_jobs_hang_does_not_keep_others_waiting) {
  BlockingPool pool({.threads_max = 4});
  BlockingGroup hanging(pool, "/hanging");
  BlockingGroup other(pool, "/other");
  std::latch release(1);
  run([&]() -> Op<> {
    auto hang = [](BlockingGroup& in, Reactor& reactor, std::latch& wait) -> Op<> {
      (void)co_await in.run(reactor, BlockingReason::sync, [&] {
        wait.wait();
        return 0;
      });
    };
    Gate jobs;
    for (int i = 0; i < 20; ++i) spawn(jobs, PeerId(1), hang(hanging, *reactor_, release));
    for (int i = 0; i < 20; ++i) {
      const auto done = co_await other.run(*reactor_, BlockingReason::sync, [] { return 1; });
      EXPECT_TRUE(done.has_value());
      const auto own = co_await pool.own().run_for_all(*reactor_, BlockingReason::sync, [] { return 1; });
      EXPECT_TRUE(own.has_value());
    }
    release.count_down();
    co_await jobs.drained();
  });
  pool.stop();
  EXPECT_EQ(pool.stats().queued, 0U);
}

TEST_F(BlockingPoolTest, jobs_are_counted_for_whom_their_chain_of_calls_works) {
  BlockingPool pool({.threads_max = 1, .queue_max = 10});
  std::latch release(1);
  int refused = 0;
  run([&]() -> Op<> {
    auto job = [](BlockingPool& in, Reactor& reactor, std::latch& wait) -> Op<bool> {
      const auto ran = co_await in.own().run(reactor, BlockingReason::other, [&] {
        wait.wait();
        return 0;
      });
      co_return ran.has_value();
    };
    auto call = [&](auto work) -> Op<> {
      const bool ran = co_await work(pool, *reactor_, release);
      if (!ran) ++refused;
    };
    Gate jobs;
    // One of each runs.
    for (int i = 0; i < 20; ++i) spawn(jobs, PeerId(1), call(job));
    EXPECT_EQ(std::exchange(refused, 0), 14);
    for (int i = 0; i < 2; ++i) spawn(jobs, PeerId(2), call(job));
    EXPECT_EQ(refused, 0);
    release.count_down();
    co_await jobs.drained();
  });
}

// With all threads that there may be at work.
TEST_F(BlockingPoolTest, what_is_posted_runs_and_nobody_waits_for_it) {
  BlockingPool pool({.threads_max = 1});
  BlockingGroup group(pool, "/export");
  std::latch begun(1), goes_on(1), done(2);
  auto kept = std::make_shared<int>(1);
  ASSERT_TRUE(group.post(PeerId(), BlockingReason::write, [&, kept] {
    begun.count_down();
    goes_on.wait();
    done.count_down();
  }));
  ASSERT_TRUE(group.post(PeerId(), BlockingReason::write, [&, kept] { done.count_down(); }));
  begun.wait();
  goes_on.count_down();
  done.wait();
  pool.stop();
  EXPECT_EQ(kept.use_count(), 1) << "what it was to be done with is let go";
  EXPECT_EQ(pool.stats().jobs[static_cast<std::size_t>(BlockingReason::write)], 2U);
}

TEST_F(BlockingPoolTest, what_is_posted_takes_the_turns_of_its_peer) {
  BlockingPool pool({.threads_max = 1, .queue_max = 10});
  std::latch release(1);
  int refused = 0;
  for (int i = 0; i < 20; ++i)
    if (!pool.own().post(PeerId(1), BlockingReason::other, [&] { release.wait(); })) ++refused;
  EXPECT_EQ(refused, 14);
  EXPECT_TRUE(pool.own().post(PeerId(2), BlockingReason::other, [&] { release.wait(); }));
  release.count_down();
  pool.stop();
}

TEST_F(BlockingPoolTest, a_stopped_pool_refuses_jobs) {
  BlockingPool pool({});
  pool.stop();
  EXPECT_FALSE(pool.own().post(PeerId(), BlockingReason::other, [] { FAIL() << "it was refused"; }));
  run([&]() -> Op<> {
    EXPECT_FALSE((co_await pool.own().run(*reactor_, BlockingReason::sync, [] { return 1; })).has_value());
  });
}

TEST_F(BlockingPoolTest, idle_threads_end) {
  BlockingPool pool({.idle_seconds = 0});
  run([&]() -> Op<> {
    (void)co_await pool.own().run(*reactor_, BlockingReason::other, [] { return 0; });
    while (pool.stats().threads != 0) co_await reactor_->sleep(std::chrono::milliseconds(1));
  });
  EXPECT_EQ(pool.stats().threads, 0U);
}

}  // namespace
}  // namespace braid::io
