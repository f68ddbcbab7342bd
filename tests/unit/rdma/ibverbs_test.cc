// What rdma/ibverbs makes of devices that lack something, refuse, or do not answer.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/manual/manual_clock.h"
#include "rdma/ibverbs/provider.h"
#include "tests/unit/rdma/fake_rdma_core.h"
#include "tests/unit/rpc/loop.h"

namespace braid::rdma::test {
namespace {

struct Done final : Work {
  void completed(WorkStatus status, std::uint32_t) override { ended.push_back(status); }
  std::vector<WorkStatus> ended;
  [[nodiscard]] bool is(WorkStatus status) const { return ended == std::vector{status}; }
};

class IbverbsTest : public testing::Test, protected ListenerUser, protected EndpointUser {
 protected:
  void on_request(std::unique_ptr<ConnectRequest> request) override {
    requests_.push_back(std::move(request));
  }
  void on_established(const ConnectParameters&) override {}
  void on_silent_failure(WorkStatus status) override { silent_failures_.push_back(status); }
  void on_disconnected() override { ++disconnected_; }

  // Runs body(), a coroutine, while a listener listens.
  template <class Body>
  void run(Body body) {
    provider_ = ibverbs::IbProvider::create().value();
    loop_.run([&]() -> io::Op<> {
      verbs_ = provider_->open(loop_.reactor()).value();
      listener_ = verbs_->listen({.bytes = {}, .port = 20049}, *this).value();
      co_await body();
      endpoints_.clear();
      requests_.clear();
      listener_.reset();
      co_await verbs_->close();
      verbs_.reset();
    });
    provider_.reset();
  }
  io::Op<> settle() {
    for (int i = 0; i < 300; ++i) co_await loop_.reactor().yield();
  }
  // A client of the device, taken with queues of this depth.
  io::Op<Endpoint*> connect(FakeDevice& device, const QueueDepths& depths = {8, 8}) {
    rdma_.ask(device);
    while (requests_.empty()) co_await loop_.reactor().yield();
    auto request = std::exchange(requests_, {});
    auto endpoint = verbs_->open(std::move(request.front()), depths, *this);
    if (!endpoint) co_return nullptr;
    co_return endpoints_.emplace_back(std::move(*endpoint)).get();
  }

  base::ManualClock clock_;
  rpc::test::Loop loop_{clock_};
  FakeRdma rdma_;
  FakeDevice& device_ = rdma_.add_device();
  std::unique_ptr<ibverbs::IbProvider> provider_;
  std::unique_ptr<Verbs> verbs_;
  std::unique_ptr<Listener> listener_;
  std::vector<std::unique_ptr<ConnectRequest>> requests_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  int disconnected_ = 0;
  std::vector<WorkStatus> silent_failures_;
};

constexpr std::array<Request, 1> lone_send{Request{}};
constexpr std::array<Request, 2> chain{Request{Opcode::write, {}, {}, 1}, Request{Opcode::send, {}, {}, 0}};

TEST_F(IbverbsTest, only_a_device_with_the_extensions_sends_invalidate) {
  FakeDevice& able = rdma_.add_device();
  able.attributes.device_cap_flags = IBV_DEVICE_MEM_MGT_EXTENSIONS;
  run([&]() -> io::Op<> {
    EXPECT_FALSE(provider_->devices().at(0)->limits().sends_invalidate);
    EXPECT_TRUE(provider_->devices().at(1)->limits().sends_invalidate);
    return io::ready_op();
  });
}

TEST_F(IbverbsTest, a_chain_that_is_refused_in_its_middle_completes_when_it_is_taken_back) {
  run([&]() -> io::Op<> {
    Endpoint& endpoint = *co_await connect(device_);
    Done first;
    Done refused;
    Done behind;
    const std::array<Posting, 3> postings{Posting{&first, chain}, Posting{&refused, chain},
                                          Posting{&behind, chain}};
    device_.takes = 3;
    EXPECT_EQ(endpoint.post(postings), 2U);
    co_await settle();
    EXPECT_EQ(disconnected_, 1);
    EXPECT_TRUE(first.is(WorkStatus::flushed));
    EXPECT_TRUE(refused.ended.empty());
    endpoint.take_back();
    EXPECT_TRUE(refused.is(WorkStatus::local_error));
    EXPECT_TRUE(device_.pairs.empty());
    EXPECT_EQ(endpoint.post(postings), 0U);
    EXPECT_TRUE(behind.ended.empty());
  });
}

TEST_F(IbverbsTest, what_a_device_does_not_flush_completes_once_its_queue_pair_is_gone) {
  run([&]() -> io::Op<> {
    Endpoint& endpoint = *co_await connect(device_);
    device_.flushes = false;
    Done receive;
    Done chained;
    EXPECT_TRUE(endpoint.post_receive(receive, {}));
    EXPECT_TRUE(endpoint.post(chained, chain));
    endpoint.disconnect();
    co_await settle();
    EXPECT_TRUE(receive.ended.empty());
    device_.destroys = false;
    endpoint.take_back();
    // The device may still write to their memory.
    EXPECT_TRUE(receive.ended.empty());
    EXPECT_TRUE(chained.ended.empty());
    device_.destroys = true;
    endpoint.take_back();
    EXPECT_TRUE(receive.is(WorkStatus::flushed));
    EXPECT_TRUE(chained.is(WorkStatus::flushed));
    EXPECT_FALSE(endpoint.post_receive(receive, {}));
  });
}

TEST_F(IbverbsTest, completions_that_wait_when_the_queue_pair_goes_are_taken_before) {
  run([&]() -> io::Op<> {
    Endpoint& endpoint = *co_await connect(device_);
    Done receive;
    EXPECT_TRUE(endpoint.post_receive(receive, {}));
    endpoint.disconnect();  // flushes; the completion is still in the queue
    EXPECT_TRUE(receive.ended.empty());
    endpoint.take_back();
    EXPECT_TRUE(receive.is(WorkStatus::flushed));
    co_await settle();
    EXPECT_EQ(receive.ended.size(), 1U);
  });
}

TEST_F(IbverbsTest, a_silent_send_is_copied_and_asks_for_no_completion) {
  run([&]() -> io::Op<> {
    Endpoint& endpoint = *co_await connect(device_);
    Done silent;
    Done heard;
    EXPECT_EQ(endpoint.post(std::array{Posting{&silent, lone_send, true}, Posting{&heard, lone_send}}), 2U);
    const auto& posted = device_.pairs.at(0)->posted;
    EXPECT_EQ(posted.at(0).flags, IBV_SEND_INLINE);
    EXPECT_EQ(posted.at(1).flags, IBV_SEND_SIGNALED);
    endpoint.disconnect();
    co_await settle();
    EXPECT_TRUE(heard.is(WorkStatus::flushed));
    EXPECT_TRUE(silent.ended.empty());
    EXPECT_TRUE(silent_failures_.empty());  // flushed, as it should be
  });
}

TEST_F(IbverbsTest, a_silent_send_that_fails_ends_its_connection_alone) {
  run([&]() -> io::Op<> {
    Endpoint& other = *co_await connect(device_);
    Endpoint& endpoint = *co_await connect(device_);
    Done silent;
    EXPECT_EQ(other.post(std::array{Posting{&silent, lone_send, true}}), 1U);
    EXPECT_EQ(endpoint.post(std::array{Posting{&silent, lone_send, true}}), 1U);
    device_.fail(*device_.pairs.at(1), IBV_WC_RETRY_EXC_ERR);
    co_await settle();
    EXPECT_EQ(silent_failures_, std::vector{WorkStatus::unanswered});
    EXPECT_EQ(disconnected_, 1);
    // What comes when the queue pair is gone is nobody's.
    EXPECT_EQ(other.post(std::array{Posting{&silent, lone_send, true}}), 1U);
    device_.fail(*device_.pairs.at(0), IBV_WC_RETRY_EXC_ERR);
    endpoints_.clear();
    co_await settle();
    EXPECT_EQ(silent_failures_.size(), 1U);
  });
}

TEST_F(IbverbsTest, what_a_device_can_copy_is_found_out) {
  run([&]() -> io::Op<> {
    device_.copies = 220;
    EXPECT_EQ((co_await connect(device_))->copied_max(), 128U);
    device_.copies = 0;
    EXPECT_EQ((co_await connect(device_))->copied_max(), 0U);
    device_.copies = 4096;
    EXPECT_EQ((co_await connect(device_))->copied_max(), 512U);
  });
}

TEST_F(IbverbsTest, a_full_completion_queue_gets_another_beside_it_and_room_is_used_again) {
  device_.attributes.max_cqe = 4096;
  run([&]() -> io::Op<> {
    constexpr QueueDepths depths{144, 528};  // of a connection of the server
    for (int i = 0; i < 10; ++i) EXPECT_NE(co_await connect(device_, depths), nullptr);
    std::vector<std::uint32_t> sizes;
    for (const FakeQueue* queue : device_.queues) sizes.push_back(queue->size);
    EXPECT_EQ(sizes, (std::vector<std::uint32_t>{2048, 4096, 4096}));  // 3, 6 and 1 of them
    endpoints_.clear();
    for (int i = 0; i < 9; ++i) EXPECT_NE(co_await connect(device_, depths), nullptr);
    EXPECT_EQ(device_.queues.size(), 3U);
    // Each has its own end.
    Done done;
    EXPECT_TRUE(endpoints_.at(8)->post(done, chain));
    device_.flush(*device_.pairs.at(8));
    co_await settle();
    EXPECT_TRUE(done.is(WorkStatus::flushed));
  });
}

TEST_F(IbverbsTest, queues_of_thousands_of_clients_are_few) {
  device_.attributes.max_cqe = 4'000'000;
  run([&]() -> io::Op<> {
    for (int i = 0; i < 1000; ++i) EXPECT_NE(co_await connect(device_, {144, 528}), nullptr);
    EXPECT_LE(device_.queues.size(), 25U);
    EXPECT_EQ(device_.queues.back()->size, 32768U);
  });
}

TEST_F(IbverbsTest, a_connection_that_no_completion_queue_can_hold_is_refused) {
  device_.attributes.max_cqe = 100;
  run([&]() -> io::Op<> {
    EXPECT_EQ(co_await connect(device_, {50, 51}), nullptr);
    EXPECT_EQ(rdma_.refusals, std::vector<std::string>{"no_resources"});
  });
}

TEST_F(IbverbsTest, a_device_that_no_longer_tells_of_completions_loses_its_connections) {
  run([&]() -> io::Op<> {
    Endpoint& endpoint = *co_await connect(device_);
    co_await settle();
    Done receive;
    Done sent;
    EXPECT_TRUE(endpoint.post_receive(receive, {}));
    EXPECT_TRUE(endpoint.post(sent, chain));
    device_.notifies = false;
    device_.flush(*device_.pairs.at(0));  // the queue has to be armed again after these
    co_await settle();
    EXPECT_EQ(disconnected_, 1);
    Done late;
    EXPECT_TRUE(endpoint.post_receive(late, {}));
    device_.flush(*device_.pairs.at(0));
    co_await settle();
    EXPECT_TRUE(late.ended.empty());
    endpoint.take_back();
    EXPECT_TRUE(late.is(WorkStatus::flushed));
    // Others get a queue that works, if there is one.
    device_.notifies = true;
    EXPECT_NE(co_await connect(device_), nullptr);
    EXPECT_EQ(device_.queues.size(), 2U);
  });
}

TEST_F(IbverbsTest, reads_are_as_many_as_the_device_may_begin) {
  device_.attributes.max_qp_rd_atom = 16;
  device_.attributes.max_qp_init_rd_atom = 4;
  run([&]() -> io::Op<> {
    EXPECT_EQ(provider_->devices().at(0)->limits().reads_max, 4U);
    return io::ready_op();
  });
}

// Keeps what devices tell.
struct Listening final : DeviceUser {
  void on_device_event(const Device& device, const DeviceEvent& event) override {
    heard.emplace_back(&device, event.kind, event.port);
  }
  std::vector<std::tuple<const Device*, DeviceEvent::Kind, unsigned>> heard;
};

TEST_F(IbverbsTest, what_devices_tell_is_heard_and_acknowledged) {
  using Kind = DeviceEvent::Kind;
  FakeDevice& second = rdma_.add_device();
  run([&]() -> io::Op<> {
    Listening user;
    const auto watch = provider_->watch(loop_.reactor(), user).value();
    const Device* const one = provider_->devices().at(0);
    const Device* const two = provider_->devices().at(1);
    device_.tell(IBV_EVENT_PORT_ERR, 2);
    device_.tell(IBV_EVENT_PORT_ACTIVE, 1);
    device_.tell(IBV_EVENT_GID_CHANGE, 1);
    co_await settle();
    EXPECT_EQ(user.heard, (std::vector<std::tuple<const Device*, Kind, unsigned>>{
                              {one, Kind::port_down, 2}, {one, Kind::port_up, 1}, {one, Kind::other, 0}}));
    user.heard.clear();
    second.tell(IBV_EVENT_QP_ACCESS_ERR);
    co_await settle();
    second.tell(IBV_EVENT_DEVICE_FATAL);
    co_await settle();
    EXPECT_EQ(user.heard, (std::vector<std::tuple<const Device*, Kind, unsigned>>{
                              {two, Kind::queue_failed, 0}, {two, Kind::device_failed, 0}}));
    EXPECT_EQ(rdma_.acknowledged, 5U);
    co_await watch->close();
  });
}

TEST_F(IbverbsTest, of_a_device_that_is_gone_nothing_more_is_asked) {
  FakeDevice& second = rdma_.add_device();
  run([&]() -> io::Op<> {
    Listening user;
    const auto watch = provider_->watch(loop_.reactor(), user).value();
    device_.tell(IBV_EVENT_DEVICE_FATAL);
    device_.vanish();
    co_await settle();
    EXPECT_EQ(user.heard.size(), 1U);
    const unsigned asked = device_.asked;
    device_.vanish();
    co_await settle();
    EXPECT_EQ(device_.asked, asked);
    second.tell(IBV_EVENT_PORT_ACTIVE, 1);
    co_await settle();
    EXPECT_EQ(user.heard.size(), 2U);
    co_await watch->close();
  });
}

TEST_F(IbverbsTest, ports_are_as_the_device_says) {
  device_.ports = {IBV_PORT_ACTIVE, IBV_PORT_DOWN, IBV_PORT_INIT, IBV_PORT_ARMED};
  run([&]() -> io::Op<> {
    const Device& device = *provider_->devices().at(0);
    std::string text;
    for (const Port& port : device.ports())
      text += std::to_string(port.number) + " " + std::string(name_of(port.state)) + ", ";
    EXPECT_EQ(text, "1 active, 2 down, 3 initializing, 4 armed, ");
    device_.vanish();
    for (const Port& port : device.ports()) EXPECT_EQ(port.state, Port::State::down);
    EXPECT_EQ(device.ports().size(), 4U);
    return io::ready_op();
  });
}

TEST_F(IbverbsTest, devices_that_cannot_be_used_are_left_out) {
  rdma_.add_device().usable = false;
  rdma_.add_device().description.transport_type = IBV_TRANSPORT_IWARP;
  FakeDevice& last = rdma_.add_device();
  run([&]() -> io::Op<> {
    EXPECT_EQ(provider_->devices().size(), 2U);
    EXPECT_NE(co_await connect(last), nullptr);
  });
}

TEST_F(IbverbsTest, without_a_device_that_can_be_used_there_is_no_provider) {
  device_.usable = false;
  const auto failed = ibverbs::IbProvider::create();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error(), base::errno_of(EIO));
  device_.usable = true;
  device_.description.transport_type = IBV_TRANSPORT_IWARP;
  const auto unsupported = ibverbs::IbProvider::create();
  ASSERT_FALSE(unsupported);
  EXPECT_EQ(unsupported.error(), base::errno_of(ENOTSUP));
}

}  // namespace
}  // namespace braid::rdma::test
