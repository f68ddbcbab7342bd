#include "io/reactor.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>

#include "base/unique_fd.h"
#include "io/gate.h"

namespace braid::io {
namespace {

using namespace std::chrono_literals;

// Runs one coroutine on a reactor of this thread until it ends.
class ReactorTest : public testing::Test {
 protected:
  ReactorTest() : reactor_(Reactor::create({}, clock_).value()) {}

  template <class Body>
  void run(Body body) {
    auto rest = [this](Body run_body) -> Op<> {
      co_await run_body();
      reactor_->stop();
    };
    auto start = [&] { spawn(gate_, rest(body)); };
    reactor_->post(std::function<void()>(start));
    reactor_->run();
    ASSERT_EQ(gate_.count(), 0U);
  }
  static std::pair<base::UniqueFd, base::UniqueFd> socket_pair() {
    std::array<int, 2> fds;
    base::check(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()) == 0);
    return {base::UniqueFd(fds[0]), base::UniqueFd(fds[1])};
  }

  base::SystemClock clock_;
  std::unique_ptr<Reactor> reactor_;
  Gate gate_;
};

TEST_F(ReactorTest, a_readable_descriptor_wakes_its_waiter) {
  auto [here, there] = socket_pair();
  run([&]() -> Op<> {
    std::jthread writer([fd = there.get()] { EXPECT_EQ(::write(fd, "x", 1), 1); });
    Result<int> events = co_await reactor_->readable(here.get());
    EXPECT_TRUE(events && (*events & POLLIN));
    char byte = 0;
    EXPECT_EQ(::read(here.get(), &byte, 1), 1);
    EXPECT_EQ(byte, 'x');
  });
}

TEST_F(ReactorTest, cancelling_a_descriptor_ends_its_waits) {
  auto [here, there] = socket_pair();
  Result<int> outcome = 0;
  run([&]() -> Op<> {
    auto wait = [](Reactor& reactor, int fd, Result<int>& got) -> Op<> {
      got = co_await reactor.readable(fd);
    };
    Gate waits;
    spawn(waits, wait(*reactor_, here.get(), outcome));
    co_await reactor_->yield();
    reactor_->cancel_fd(here.get());
    co_await waits.drained();
  });
  EXPECT_EQ(outcome.error(), base::errno_of(ECANCELED));
}

// Between two parts of what takes long there is a whole turn; of what yields, many parts run in one.
TEST_F(ReactorTest, what_has_come_meanwhile_runs_before_the_next_turn_of_what_takes_long) {
  constexpr std::uint64_t parts = 10;
  std::uint64_t of_yields = 0, of_turns = 0;
  run([&]() -> Op<> {
    const std::uint64_t first = reactor_->stats().turns;
    for (std::uint64_t i = 0; i < parts; ++i) co_await reactor_->yield();
    const std::uint64_t second = reactor_->stats().turns;
    for (std::uint64_t i = 0; i < parts; ++i) co_await reactor_->next_turn();
    of_yields = second - first;
    of_turns = reactor_->stats().turns - second;
  });
  EXPECT_LE(of_yields, 1U);
  EXPECT_EQ(of_turns, parts);
}

TEST_F(ReactorTest, timers_fire_in_the_order_of_their_deadlines) {
  std::string order;
  run([&]() -> Op<> {
    auto note = [](Reactor& reactor, base::TimePoint deadline, char name, std::string& out) -> Op<> {
      Timer timer(reactor);
      (void)co_await timer.until(deadline);
      out.push_back(name);
    };
    const base::TimePoint now = clock_.now();
    Gate sleepers;
    spawn(sleepers, note(*reactor_, now + 30ms, 'c', order));
    spawn(sleepers, note(*reactor_, now + 10ms, 'a', order));
    spawn(sleepers, note(*reactor_, now + 20ms, 'b', order));
    co_await sleepers.drained();
  });
  EXPECT_EQ(order, "abc");
}

// Else what a simulation does depended on where the allocator puts its timers.
TEST_F(ReactorTest, timers_of_the_same_moment_fire_in_the_order_in_which_they_were_armed) {
  std::string order;
  run([&]() -> Op<> {
    std::array<Timer, 3> timers{Timer(*reactor_), Timer(*reactor_), Timer(*reactor_)};
    auto note = [](Timer& timer, base::TimePoint deadline, char name, std::string& out) -> Op<> {
      (void)co_await timer.until(deadline);
      out.push_back(name);
    };
    const base::TimePoint moment = clock_.now() + 10ms;
    Gate sleepers;
    spawn(sleepers, note(timers[2], moment, 'a', order));
    spawn(sleepers, note(timers[0], moment, 'b', order));
    spawn(sleepers, note(timers[1], moment, 'c', order));
    co_await sleepers.drained();
  });
  EXPECT_EQ(order, "abc");
}

TEST_F(ReactorTest, a_cancelled_timer_tells_its_waiter_so) {
  bool fired = true;
  run([&]() -> Op<> {
    Timer timer(*reactor_);
    auto wait = [](Timer& waited, base::TimePoint until, bool& out) -> Op<> {
      out = co_await waited.until(until);
    };
    Gate waits;
    spawn(waits, wait(timer, clock_.now() + 1h, fired));
    timer.cancel();
    co_await waits.drained();
  });
  EXPECT_FALSE(fired);
}

TEST_F(ReactorTest, posts_from_many_threads_all_arrive_once) {
  constexpr int threads = 4;
  constexpr int each = 5000;
  int count = 0;
  run([&]() -> Op<> {
    std::vector<std::jthread> posters;
    for (int i = 0; i < threads; ++i)
      posters.emplace_back([&] {
        for (int j = 0; j < each; ++j)
          reactor_->post(ReadyItem{[](void* counter) { ++*static_cast<int*>(counter); }, &count});
      });
    while (count < threads * each) co_await reactor_->sleep(1ms);
  });
  EXPECT_EQ(count, threads * each);
}

TEST_F(ReactorTest, what_is_ready_when_it_is_stopped_still_runs) {
  constexpr int items = 2000;  // more than one turn's
  int count = 0;
  reactor_->post([&] { reactor_->stop(); });
  for (int i = 0; i < items; ++i)
    reactor_->post(ReadyItem{[](void* counter) { ++*static_cast<int*>(counter); }, &count});
  reactor_->run();
  EXPECT_EQ(count, items);
}

TEST_F(ReactorTest, end_of_turn_work_runs_once_after_the_ready_coroutines) {
  std::string order;
  run([&]() -> Op<> {
    reactor_->at_end_of_turn({[](void* out) { static_cast<std::string*>(out)->push_back('e'); }, &order});
    co_await reactor_->yield();
    order.push_back('y');
    co_await reactor_->sleep(1ms);
    order.push_back('s');
  });
  EXPECT_EQ(order, "yes");
}

TEST_F(ReactorTest, file_io_goes_through_the_ring) {
  char path[] = "/tmp/braid-reactor-XXXXXX";
  base::UniqueFd file(::mkstemp(path));
  ::unlink(path);
  run([&]() -> Op<> {
    const std::string text = "written by the ring";
    Result<int> wrote = co_await reactor_->write(file.get(), base::bytes_of(text), 5);
    EXPECT_EQ(wrote.value(), static_cast<int>(text.size()));
    EXPECT_TRUE((co_await reactor_->fsync(file.get(), true)).has_value());
    std::string back(text.size(), ' ');
    Result<int> got = co_await reactor_->read(file.get(), std::as_writable_bytes(std::span(back)), 5);
    EXPECT_EQ(got.value(), static_cast<int>(text.size()));
    EXPECT_EQ(back, text);
  });
}

TEST_F(ReactorTest, an_idle_reactor_sleeps_instead_of_turning) {
  std::uint64_t turns = 0;
  run([&]() -> Op<> {
    const std::uint64_t before = reactor_->stats().turns;
    co_await reactor_->sleep(100ms);
    turns = reactor_->stats().turns - before;
  });
  EXPECT_LE(turns, 4U);
}

TEST_F(ReactorTest, more_requests_than_ring_entries_all_complete) {
  auto small = Reactor::create({.ring_entries = 8}, clock_).value();
  constexpr int count = 100;
  int done = 0;
  std::vector<std::pair<base::UniqueFd, base::UniqueFd>> pairs;
  for (int i = 0; i < count; ++i) pairs.push_back(socket_pair());
  Gate waits;
  auto wait = [](Reactor& reactor, int fd, int& counter) -> Op<> {
    (void)co_await reactor.readable(fd);
    if (++counter == count) reactor.stop();
  };
  small->post(std::function<void()>([&] {
    for (auto& [here, there] : pairs) spawn(waits, wait(*small, here.get(), done));
    for (auto& [here, there] : pairs) base::check(::write(there.get(), "x", 1) == 1);
  }));
  small->run();
  EXPECT_EQ(done, count);
}

}  // namespace
}  // namespace braid::io
