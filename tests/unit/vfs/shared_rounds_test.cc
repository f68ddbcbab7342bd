#include "vfs/shared_rounds.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "tests/unit/rpc/loop.h"

namespace braid::vfs {
namespace {

class SharedRoundsTest : public testing::Test {
 protected:
  // A round takes a moment.
  auto work(Error* failure = nullptr) {
    return [this, failure]() -> VfsOp<> {
      ++rounds_;
      EXPECT_FALSE(std::exchange(running_, true)) << "one at a time";
      (void)co_await io::Reactor::current()->sleep(std::chrono::milliseconds(2)).as_result();
      running_ = false;
      if (failure != nullptr) co_await base::fail(*failure);
    };
  }

  base::SystemClock clock_;
  SharedRounds shared_;
  int rounds_ = 0;
  bool running_ = false;
};

TEST_F(SharedRoundsTest, who_comes_at_the_same_time_shares_the_round) {
  rpc::test::Loop loop(clock_);
  loop.run([&]() -> io::Op<> {
    std::vector<VfsOp<>> callers;
    for (int i = 0; i < 5; ++i) callers.push_back(shared_.run(work()));
    for (VfsOp<>& caller : callers) caller.start({});
    EXPECT_EQ(rounds_, 0);
    for (VfsOp<>& caller : callers) {
      const auto done = co_await std::move(caller).as_result();
      EXPECT_TRUE(done.has_value());
    }
    EXPECT_EQ(rounds_, 1);
  });
}

TEST_F(SharedRoundsTest, who_comes_during_a_round_shares_the_next_one) {
  rpc::test::Loop loop(clock_);
  loop.run([&]() -> io::Op<> {
    std::vector<VfsOp<>> callers;
    for (int i = 0; i < 5; ++i) callers.push_back(shared_.run(work()));
    callers[0].start({});
    while (!running_) co_await io::Reactor::current()->yield();
    for (std::size_t i = 1; i < callers.size(); ++i) callers[i].start({});
    for (VfsOp<>& caller : callers) {
      const auto done = co_await std::move(caller).as_result();
      EXPECT_TRUE(done.has_value());
    }
    EXPECT_EQ(rounds_, 2) << "the first caller's, and one for the others";
    const auto later = co_await shared_.run(work()).as_result();
    EXPECT_TRUE(later.has_value());
    EXPECT_EQ(rounds_, 3);
  });
}

TEST_F(SharedRoundsTest, the_error_of_a_round_is_that_of_all_who_share_it) {
  rpc::test::Loop loop(clock_);
  loop.run([&]() -> io::Op<> {
    Error failure = Error::io;
    VfsOp<> first = shared_.run(work());
    VfsOp<> second = shared_.run(work(&failure)), third = shared_.run(work(&failure));
    first.start({});
    while (!running_) co_await io::Reactor::current()->yield();
    second.start({});
    third.start({});
    const auto one = co_await std::move(first).as_result();
    const auto two = co_await std::move(second).as_result();
    const auto three = co_await std::move(third).as_result();
    EXPECT_TRUE(one.has_value());
    EXPECT_EQ(two.error(), Error::io);
    EXPECT_EQ(three.error(), Error::io);
    EXPECT_EQ(rounds_, 2);
  });
}

TEST_F(SharedRoundsTest, callers_on_several_threads_are_all_answered) {
  constexpr int each = 200;
  std::atomic<int> ended{0}, rounds{0}, running{0}, overlaps{0};
  {
    std::vector<std::unique_ptr<rpc::test::ReactorThread>> threads;
    std::vector<std::thread> drivers;
    for (int i = 0; i < 3; ++i) threads.push_back(std::make_unique<rpc::test::ReactorThread>(clock_));
    const auto round = [&]() -> VfsOp<> {
      if (running.fetch_add(1) != 0) ++overlaps;
      ++rounds;
      (void)co_await io::Reactor::current()->sleep(std::chrono::microseconds(50)).as_result();
      running.fetch_sub(1);
    };
    for (auto& thread : threads)
      drivers.emplace_back([&] {
        thread->await([&]() -> io::Op<> {
          for (int i = 0; i < each; ++i) {
            (void)co_await shared_.run(round).as_result();
            ++ended;
          }
        });
      });
    for (std::thread& driver : drivers) driver.join();
  }
  EXPECT_EQ(ended, 3 * each);
  EXPECT_EQ(overlaps, 0);
  EXPECT_LE(rounds, 3 * each);
}

}  // namespace
}  // namespace braid::vfs
