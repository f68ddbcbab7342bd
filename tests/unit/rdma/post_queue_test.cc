// What is posted in one turn goes to the device together.
#include "rdma/post_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <vector>

#include "io/ready_queue.h"
#include "tests/unit/rdma/connection_fixture.h"

namespace braid::rdma {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): the words of these tests

struct PostedWork final : Work {
  void completed(WorkStatus status, std::uint32_t) override { ended.push_back(status); }
  std::vector<WorkStatus> ended;
};

// Notes the addresses of what is posted, call by call; takes as many postings as it may.
class Device final : public Endpoint {
 public:
  [[nodiscard]] const rpc::PeerAddress& peer() const override { return peer_; }
  [[nodiscard]] rdma::Device& device() const override { std::abort(); }
  [[nodiscard]] std::uint32_t copied_max() const override { return 512; }
  base::Result<void> start(const ConnectParameters&) override { return {}; }
  base::Result<void> post_receive(Work&, const LocalPiece&) override { return {}; }
  std::size_t post(std::span<const Posting> postings) override {
    auto& call = calls.emplace_back();
    for (const Posting& posting : postings)
      for (const Request& request : posting.chain) call.push_back(request.address);
    return std::min(postings.size(), takes);
  }
  void disconnect() override {}
  void take_back() override {}

  std::vector<std::vector<std::uint64_t>> calls;
  std::size_t takes = 1000;

 private:
  rpc::PeerAddress peer_;
};

class PostQueueTest : public testing::Test {
 protected:
  PostQueueTest() {
    io::ReadyQueue::make_current(&ready_);
    posts_.set_up(device_);
  }
  ~PostQueueTest() override { io::ReadyQueue::make_current(nullptr); }
  void end_turn() { (void)ready_.run(1000); }
  static void post_other(void* self) {
    auto* test = static_cast<PostQueueTest*>(self);
    test->posts_.post({&test->second_, test->other_});
  }
  static Request at(std::uint64_t address) { return {Opcode::write, {}, {}, address}; }

  using Calls = std::vector<std::vector<std::uint64_t>>;
  io::ReadyQueue ready_;
  Device device_;
  PostQueue posts_;
  const std::array<Request, 2> chain_{at(1), at(2)};
  const std::array<Request, 1> other_{at(3)};
  PostedWork first_;
  PostedWork second_;
};

TEST_F(PostQueueTest, what_is_posted_in_a_turn_is_handed_over_once_and_in_order) {
  posts_.post({&first_, chain_});
  posts_.post({&second_, other_});
  EXPECT_TRUE(device_.calls.empty());
  end_turn();
  EXPECT_EQ(device_.calls, (Calls{{1, 2, 3}}));
  posts_.post({&second_, other_});
  end_turn();
  EXPECT_EQ(device_.calls, (Calls{{1, 2, 3}, {3}}));
  EXPECT_TRUE(first_.ended.empty());
}

TEST_F(PostQueueTest, what_is_ready_now_is_posted_with_it) {
  posts_.post({&first_, chain_});
  // Behind the queue's own item: of the next turn.
  ready_.push({post_other, this});
  end_turn();
  EXPECT_EQ(device_.calls, (Calls{{1, 2}, {3}}));
  // Before it.
  ready_.push({post_other, this});
  posts_.post({&first_, chain_});
  end_turn();
  EXPECT_EQ(device_.calls, (Calls{{1, 2}, {3}, {1, 2, 3}}));
}

TEST_F(PostQueueTest, many_requests_do_not_wait_for_the_end_of_the_turn) {
  const std::vector<Request> many(40, at(9));
  posts_.post({&first_, chain_});
  posts_.post({&second_, many});
  ASSERT_EQ(device_.calls.size(), 1U);
  EXPECT_EQ(device_.calls[0].size(), 42U);
  end_turn();
  EXPECT_EQ(device_.calls.size(), 1U);
}

TEST_F(PostQueueTest, a_flush_hands_over_at_once) {
  posts_.post({&first_, chain_});
  posts_.flush();
  EXPECT_EQ(device_.calls, (Calls{{1, 2}}));
  end_turn();
  EXPECT_EQ(device_.calls.size(), 1U);
}

TEST_F(PostQueueTest, what_the_device_refuses_fails_from_the_ready_queue) {
  device_.takes = 1;
  posts_.post({&first_, chain_});
  posts_.post({&second_, other_});
  posts_.flush();
  EXPECT_TRUE(second_.ended.empty());
  end_turn();
  EXPECT_EQ(second_.ended, std::vector{WorkStatus::local_error});
  EXPECT_TRUE(first_.ended.empty());
}

TEST_F(PostQueueTest, a_silent_one_completes_when_the_device_has_taken_it) {
  const std::array<Request, 1> send{Request{}};
  posts_.post({&first_, send, true});
  posts_.flush();
  EXPECT_TRUE(first_.ended.empty());  // not inside a call
  end_turn();
  EXPECT_EQ(first_.ended, std::vector{WorkStatus::success});
  device_.takes = 0;
  posts_.post({&second_, send, true});
  end_turn();
  EXPECT_EQ(second_.ended, std::vector{WorkStatus::local_error});
}

// With a connection: the replies to calls that are released together.
class GatheredTest : public ConnectionTest {
 protected:
  // Several calls offer the same memory: no reply may invalidate it.
  static constexpr ClientOptions keeps_keys{.private_data = PrivateData{4096, 4096, false}};
  // A call that waits, and then writes 100 bytes into each of so many segments.
  void call_late(SimClient& client, const Offer& sink, std::uint32_t xid, std::uint32_t segments) {
    Wire wire(xid, 32, 0);
    std::vector<Segment> all;
    for (std::uint32_t i = 0; i < segments; ++i) all.push_back(sink.segment(100 * i, 100));
    client.send(wire.write(all).with(call(xid, proc_late, words({1, 100 * segments}))));
  }
  // The transaction numbers of what the client has received.
  static std::vector<std::uint32_t> answered(const SimClient& client) {
    std::vector<std::uint32_t> xids;
    for (const Bytes& message : client.messages) xids.push_back(std::to_integer<std::uint32_t>(message[3]));
    return xids;
  }
};

TEST_F(GatheredTest, replies_of_one_turn_are_told_to_the_device_at_once_and_in_order) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect(keeps_keys);
    const Offer sink = client.writable(1000);
    for (std::uint32_t xid = 1; xid <= 5; ++xid) call_late(client, sink, xid, 2);
    co_await world_->settle();
    const auto before = world_->host.stats();
    service_.release();
    co_await world_->settle();
    EXPECT_EQ(world_->host.stats().doorbells - before.doorbells, 1U);
    EXPECT_EQ(world_->host.stats().chains - before.chains, 5U);
    EXPECT_EQ(answered(client), (std::vector<std::uint32_t>{1, 2, 3, 4, 5}));
  });
}

TEST_F(GatheredTest, replies_wait_while_the_queue_is_full) {
  WorldOptions options;
  options.device.requests_max = 160;  // 144 besides the RDMA Reads
  run(
      [&]() -> io::Op<> {
        SimClient& client = *co_await world_->connect(keeps_keys);
        const Offer sink = client.writable(10'000);
        for (std::uint32_t xid = 1; xid <= 6; ++xid) call_late(client, sink, xid, 60);
        co_await world_->settle();
        world_->host.hold_completions(true);
        service_.release();
        co_await world_->settle();
        EXPECT_EQ(answered(client), (std::vector<std::uint32_t>{1, 2}));
        world_->host.hold_completions(false);
        co_await world_->settle();
        EXPECT_EQ(answered(client), (std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6}));
      },
      options);
}

// Whichever request of the turn is refused, what is before it arrives, and nothing is left (World::run
// looks).
TEST_F(GatheredTest, a_request_that_the_device_refuses_ends_the_connection_behind_those_before) {
  for (std::size_t taken = 0; taken < 9; ++taken) {
    run([&]() -> io::Op<> {
      SimClient& client = *co_await world_->connect(keeps_keys);
      const Offer sink = client.writable(1000);
      for (std::uint32_t xid = 1; xid <= 3; ++xid) call_late(client, sink, xid, 2);
      co_await world_->settle();
      world_->host.refuse_posts(1, taken);
      service_.release();
      co_await world_->settle();
      EXPECT_TRUE(client.disconnected);
      co_await world_->flush_limit_passes();
      EXPECT_EQ(world_->rdma->connections(), 0U);
      // A reply is three requests; which of those before still arrive is the device's to say.
      const auto got = answered(client);
      EXPECT_LE(got.size(), taken / 3) << taken;
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], i + 1);
    });
  }
}

TEST_F(GatheredTest, a_connection_may_end_while_replies_are_gathered) {
  for (int turns = 0; turns < 12; ++turns) {
    for (const bool by_client : {true, false}) {
      run([&]() -> io::Op<> {
        SimClient& client = *co_await world_->connect(keeps_keys);
        const Offer sink = client.writable(1000);
        const Offer source = client.readable(patterned(3000));
        for (std::uint32_t xid = 1; xid <= 3; ++xid) call_late(client, sink, xid, 2);
        co_await world_->settle();
        client.send(Wire(4, 32, 0).read(44, source.segment()).with(call(4, proc_write, words({3000, 5}))));
        service_.release();
        for (int i = 0; i < turns; ++i) co_await world_->loop.reactor().yield();
        if (by_client)
          client.disconnect();
        else
          co_await world_->rdma->close();
        co_await world_->settle();
        EXPECT_EQ(world_->rdma->connections(), 0U);
      });
    }
  }
}

}  // namespace
}  // namespace braid::rdma
