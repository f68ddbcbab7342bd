// The simulated wire: what takes how long, in virtual time.
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <vector>

#include "base/manual/manual_clock.h"
#include "io/ready_queue.h"
#include "rdma/sim/fabric.h"

namespace braid::rdma::sim {
namespace {

using namespace std::chrono_literals;

struct TimedWork final : Work {
  explicit TimedWork(const base::Clock& clock) : clock_(clock) {}
  void completed(WorkStatus status, std::uint32_t) override {
    ended.push_back(status);
    at = clock_.now();
  }
  std::vector<WorkStatus> ended;
  base::TimePoint at{};

 private:
  const base::Clock& clock_;
};

struct LinkUser final : EndpointUser {
  void on_established(const ConnectParameters&) override {}
  void on_disconnected() override { disconnected = true; }
  bool disconnected = false;
};

struct LinkListener final : ListenerUser {
  void on_request(std::unique_ptr<ConnectRequest> got) override { request = std::move(got); }
  std::unique_ptr<ConnectRequest> request;
};

// A thousand bytes take a millisecond, and ten more to arrive.
class LinkTest : public testing::Test {
 protected:
  LinkTest() : here_(100'000), there_(100'000) {
    io::ReadyQueue::make_current(&queue_);
    listener_ = server_.listen({.bytes = {}, .port = 1}, listening_).value();
    near_ = client_.connect(listener_->address(), {64, 64}, near_user_).value();
    settle();
    EXPECT_TRUE(near_->start({.private_data = {}, .reads_out = 0, .reads_in = 2}));
    settle();
    far_ = server_.open(std::move(listening_.request), {64, 64}, far_user_).value();
    EXPECT_TRUE(far_->start({.private_data = {}, .reads_out = 2, .reads_in = 0}));
    settle();
    local_ = server_.register_memory(here_, Access::local).value();
    start_ = clock_.now();
  }
  ~LinkTest() override {
    far_->disconnect();
    run();
    local_.reset();
    remote_.reset();
    receive_memory_.reset();
    near_.reset();
    far_.reset();
    listener_.reset();
    settle();
    io::ReadyQueue::make_current(nullptr);
  }
  void settle() {
    while (queue_.run(1000) > 0) {
    }
  }
  void run() {
    do settle();
    while (fabric_.advance());
  }
  void offer(Access access) { remote_ = client_.register_memory(there_, access).value(); }
  void post(TimedWork& done, Opcode opcode, std::uint32_t bytes) {
    const LocalPiece local{here_.data(), bytes, local_->local_key()};
    const Request request{opcode,
                          {&local, 1},
                          remote_ ? remote_->remote_key() : RemoteKey(),
                          reinterpret_cast<std::uintptr_t>(there_.data())};
    ASSERT_TRUE(far_->post(done, {&request, 1}));
  }
  void receive(TimedWork& done) {
    if (!receive_memory_) receive_memory_ = client_.register_memory(there_, Access::local).value();
    ASSERT_TRUE(near_->post_receive(done, {there_.data(), 50'000, receive_memory_->local_key()}));
  }
  [[nodiscard]] base::Duration when(const TimedWork& done) const { return done.at - start_; }

  io::ReadyQueue queue_;
  base::ManualClock clock_;
  Fabric fabric_{{.delay = 10ms, .bytes_per_second = 1'000'000}, clock_};
  Host server_{fabric_, "server"};
  Host client_{fabric_, "client"};
  LinkListener listening_;
  std::unique_ptr<Listener> listener_;
  LinkUser near_user_;
  LinkUser far_user_;
  std::unique_ptr<Endpoint> near_;
  std::unique_ptr<Endpoint> far_;
  base::Bytes here_;
  base::Bytes there_;
  std::unique_ptr<MemoryRegion> local_;
  std::unique_ptr<MemoryRegion> remote_;
  std::unique_ptr<MemoryRegion> receive_memory_;
  base::TimePoint start_{};
};

TEST_F(LinkTest, a_write_takes_its_bytes_and_a_round_trip) {
  offer(Access::remote_write);
  here_[999] = std::byte{7};
  TimedWork done(clock_);
  post(done, Opcode::write, 1000);
  run();
  ASSERT_EQ(done.ended, std::vector{WorkStatus::success});
  EXPECT_EQ(when(done), 21ms);
  EXPECT_EQ(there_[999], std::byte{7});
}

TEST_F(LinkTest, writes_follow_each_other_without_waiting) {
  offer(Access::remote_write);
  std::deque<TimedWork> done;
  for (int i = 0; i < 10; ++i) post(done.emplace_back(clock_), Opcode::write, 1000);
  run();
  for (std::size_t i = 0; i < done.size(); ++i) EXPECT_EQ(when(done[i]), 21ms + i * 1ms) << i;
}

TEST_F(LinkTest, a_read_takes_a_round_trip_and_its_bytes) {
  offer(Access::remote_read);
  there_[999] = std::byte{7};
  TimedWork done(clock_);
  post(done, Opcode::read, 1000);
  run();
  ASSERT_EQ(done.ended, std::vector{WorkStatus::success});
  EXPECT_EQ(when(done), 21ms);
  EXPECT_EQ(here_[999], std::byte{7});
}

TEST_F(LinkTest, no_more_reads_are_on_their_way_than_was_agreed) {
  offer(Access::remote_read);
  std::deque<TimedWork> done;
  for (int i = 0; i < 6; ++i) post(done.emplace_back(clock_), Opcode::read, 1000);
  run();
  // Two at a time: 21 and 22 ms, the next ones a round trip behind each of them.
  for (std::size_t i = 0; i < done.size(); ++i)
    EXPECT_EQ(when(done[i]), (i / 2 + 1) * 21ms + (i % 2) * 1ms) << i;
}

TEST_F(LinkTest, a_send_arrives_behind_what_was_written_before_it) {
  offer(Access::remote_write);
  TimedWork received(clock_);
  receive(received);
  TimedWork written(clock_);
  TimedWork sent(clock_);
  post(written, Opcode::write, 5000);
  post(sent, Opcode::send, 1000);
  run();
  EXPECT_EQ(when(received), 16ms);
  EXPECT_EQ(when(written), 25ms);
  EXPECT_EQ(when(sent), 26ms);
}

TEST_F(LinkTest, a_send_without_a_receive_holds_up_what_is_behind_it) {
  offer(Access::remote_write);
  TimedWork sent(clock_);
  TimedWork written(clock_);
  post(sent, Opcode::send, 1000);
  post(written, Opcode::write, 1000);
  run();
  EXPECT_TRUE(sent.ended.empty());
  EXPECT_TRUE(written.ended.empty());
  TimedWork received(clock_);
  receive(received);
  run();
  EXPECT_EQ(sent.ended, std::vector{WorkStatus::success});
  EXPECT_EQ(written.ended, std::vector{WorkStatus::success});
}

TEST_F(LinkTest, a_request_that_fails_ends_the_connection_and_what_is_behind_it) {
  offer(Access::remote_read);
  TimedWork wrong(clock_);
  TimedWork behind(clock_);
  post(wrong, Opcode::write, 1000);
  post(behind, Opcode::read, 1000);
  run();
  EXPECT_EQ(wrong.ended, std::vector{WorkStatus::remote_access});
  EXPECT_EQ(when(wrong), 21ms);
  EXPECT_EQ(behind.ended, std::vector{WorkStatus::flushed});
  EXPECT_TRUE(near_user_.disconnected);
}

TEST_F(LinkTest, each_host_sends_on_a_wire_of_its_own) {
  offer(Access::remote_write);
  const auto other = client_.register_memory(here_, Access::remote_read).value();
  TimedWork written(clock_);
  TimedWork read(clock_);
  post(written, Opcode::write, 10'000);
  const LocalPiece local{here_.data() + 50'000, 10'000, local_->local_key()};
  const Request request{
      Opcode::read, {&local, 1}, other->remote_key(), reinterpret_cast<std::uintptr_t>(here_.data())};
  ASSERT_TRUE(far_->post(read, {&request, 1}));
  run();
  EXPECT_EQ(when(written), 30ms);
  // Asked for when the write had left, and then the other wire's 10 ms.
  EXPECT_EQ(when(read), 40ms);
}

}  // namespace
}  // namespace braid::rdma::sim
