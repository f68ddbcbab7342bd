// The simulation checks what a device would check.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "io/ready_queue.h"
#include "rdma/sim/fabric.h"

namespace braid::rdma::sim {
namespace {

struct Done final : Work {
  void completed(WorkStatus status, std::uint32_t bytes) override { ended.emplace_back(status, bytes); }
  std::vector<std::pair<WorkStatus, std::uint32_t>> ended;
  [[nodiscard]] bool is(WorkStatus status) const { return ended.size() == 1 && ended[0].first == status; }
};

struct User final : EndpointUser {
  void on_resolved() override { resolved = true; }
  void on_established(const ConnectParameters& peer) override {
    established = true;
    private_data = std::string(base::text_of(peer.private_data));
    reads_out = peer.reads_out;
    reads_in = peer.reads_in;
  }
  void on_silent_failure(WorkStatus status) override { silent_failure = status; }
  void on_disconnected() override { disconnected = true; }
  bool resolved = false;
  bool established = false;
  bool disconnected = false;
  WorkStatus silent_failure = WorkStatus::success;
  std::string private_data;
  std::uint32_t reads_out = 0;
  std::uint32_t reads_in = 0;
};

struct Listening final : ListenerUser {
  void on_request(std::unique_ptr<ConnectRequest> got) override { request = std::move(got); }
  std::unique_ptr<ConnectRequest> request;
};

class SimTest : public testing::Test {
 protected:
  SimTest() { io::ReadyQueue::make_current(&queue_); }
  ~SimTest() override {
    settle();
    local_.reset();
    remote_.reset();
    near_.reset();
    far_.reset();
    listening_.request.reset();
    listener_.reset();
    settle();
    io::ReadyQueue::make_current(nullptr);
  }
  void settle() {
    while (queue_.run(1000) > 0) {
    }
  }
  void meet() {
    listener_ = server_.listen(address_, listening_).value();
    near_ = client_.connect(listener_->address(), {8, 8}, near_user_).value();
    settle();
    ASSERT_TRUE(near_user_.resolved);
    ASSERT_TRUE(near_->start({.private_data = base::bytes_of("hello"), .reads_out = 0, .reads_in = 4}));
    settle();
    ASSERT_NE(listening_.request, nullptr);
    EXPECT_EQ(base::text_of(listening_.request->offered().private_data), "hello");
    far_ = server_.open(std::move(listening_.request), {8, 8}, far_user_).value();
    local_ = server_.register_memory(here_, Access::local).value();
  }
  void establish() {
    meet();
    ASSERT_TRUE(far_->start({.private_data = base::bytes_of("welcome"), .reads_out = 4, .reads_in = 0}));
    settle();
    ASSERT_TRUE(near_user_.established);
    ASSERT_TRUE(far_user_.established);
  }
  [[nodiscard]] LocalPiece piece(std::uint32_t bytes) { return {here_.data(), bytes, local_->local_key()}; }
  void offer(Access access) { remote_ = client_.register_memory(there_, access).value(); }
  [[nodiscard]] std::uint64_t there() const { return reinterpret_cast<std::uintptr_t>(there_.data()); }
  // Posts one request of the server's and runs it.
  void run(Opcode opcode, std::uint32_t bytes, std::uint64_t address, RemoteKey key) {
    const LocalPiece local = piece(bytes);
    const Request request{opcode, {&local, 1}, key, address};
    ASSERT_TRUE(far_->post(done_, {&request, 1}));
    settle();
  }

  io::ReadyQueue queue_;
  Fabric fabric_;
  Host server_{fabric_, "server"};
  Host client_{fabric_, "client"};
  rpc::PeerAddress address_{.bytes = {}, .port = 20049};
  Listening listening_;
  std::unique_ptr<Listener> listener_;
  User near_user_;
  User far_user_;
  std::unique_ptr<Endpoint> near_;  // the client's
  std::unique_ptr<Endpoint> far_;   // the server's
  std::array<std::byte, 64> here_{};
  std::array<std::byte, 64> there_{};
  std::unique_ptr<MemoryRegion> local_;
  std::unique_ptr<MemoryRegion> remote_;
  Done done_;
};

TEST_F(SimTest, connecting_tells_each_side_of_the_other) {
  establish();
  EXPECT_EQ(near_user_.private_data, "welcome");
  EXPECT_EQ(near_user_.reads_out, 4U);
  EXPECT_EQ(far_user_.reads_in, 4U);
}

TEST_F(SimTest, a_request_that_is_dropped_is_a_refusal) {
  meet();
  far_.reset();
  settle();
  EXPECT_TRUE(near_user_.disconnected);
  EXPECT_FALSE(near_user_.established);
}

TEST_F(SimTest, nobody_listening_is_a_refusal) {
  near_ = client_.connect(address_, {1, 1}, near_user_).value();
  ASSERT_TRUE(near_->start({}));
  settle();
  EXPECT_TRUE(near_user_.disconnected);
}

TEST_F(SimTest, more_reads_than_the_peer_answers_are_not_agreed_to) {
  meet();
  EXPECT_FALSE(far_->start({.private_data = {}, .reads_out = 5, .reads_in = 0}));
}

TEST_F(SimTest, sends_reach_receives_in_order) {
  establish();
  const auto memory = client_.register_memory(there_, Access::local).value();
  Done received;
  ASSERT_TRUE(near_->post_receive(received, {there_.data(), 64, memory->local_key()}));
  here_[0] = std::byte{42};
  run(Opcode::send, 5, 0, {});
  EXPECT_TRUE(done_.is(WorkStatus::success));
  ASSERT_TRUE(received.is(WorkStatus::success));
  EXPECT_EQ(received.ended[0].second, 5U);
  EXPECT_EQ(there_[0], std::byte{42});
}

TEST_F(SimTest, a_send_without_a_receive_waits_for_one) {
  establish();
  run(Opcode::send, 5, 0, {});
  EXPECT_TRUE(done_.ended.empty());
  const auto memory = client_.register_memory(there_, Access::local).value();
  Done received;
  ASSERT_TRUE(near_->post_receive(received, {there_.data(), 64, memory->local_key()}));
  settle();
  EXPECT_TRUE(done_.is(WorkStatus::success));
}

TEST_F(SimTest, an_impatient_send_fails_for_want_of_a_receive) {
  establish();
  server_.set_impatient(true);
  run(Opcode::send, 5, 0, {});
  EXPECT_TRUE(done_.is(WorkStatus::not_received));
  EXPECT_TRUE(far_user_.disconnected);
}

TEST_F(SimTest, a_send_that_is_longer_than_the_receive_ends_both) {
  establish();
  const auto memory = client_.register_memory(there_, Access::local).value();
  Done received;
  ASSERT_TRUE(near_->post_receive(received, {there_.data(), 4, memory->local_key()}));
  run(Opcode::send, 5, 0, {});
  EXPECT_TRUE(done_.is(WorkStatus::remote_invalid));
  EXPECT_TRUE(received.is(WorkStatus::local_error));
}

TEST_F(SimTest, writes_and_reads_need_the_right_the_key_and_the_bounds) {
  struct Case {
    Opcode opcode;
    Access access;
    std::uint32_t bytes;
    std::uint64_t from;  // of the peer's memory
    std::uint32_t key;   // added to the right one
    WorkStatus status;
  };
  for (const Case& one :
       {Case{Opcode::write, Access::remote_write, 64, 0, 0, WorkStatus::success},
        Case{Opcode::read, Access::remote_read, 60, 4, 0, WorkStatus::success},
        Case{Opcode::write, Access::remote_read, 64, 0, 0, WorkStatus::remote_access},
        Case{Opcode::read, Access::remote_write, 64, 0, 0, WorkStatus::remote_access},
        Case{Opcode::read, Access::local, 64, 0, 0, WorkStatus::remote_access},
        Case{Opcode::write, Access::remote_write, 64, 1, 0, WorkStatus::remote_access},
        Case{Opcode::write, Access::remote_write, 4, ~std::uint64_t{0}, 0, WorkStatus::remote_access},
        Case{Opcode::write, Access::remote_write, 64, 0, 2, WorkStatus::remote_access},
        Case{Opcode::write, Access::remote_write, 0, 0, 2, WorkStatus::success}}) {
    done_.ended.clear();
    near_.reset();
    far_.reset();
    listener_.reset();
    remote_.reset();
    local_.reset();
    near_user_ = {};
    far_user_ = {};
    settle();
    establish();
    offer(one.access);
    run(one.opcode, one.bytes, there() + one.from, RemoteKey(remote_->remote_key().value() + one.key));
    EXPECT_TRUE(done_.is(one.status)) << static_cast<int>(one.opcode) << " " << one.bytes;
    EXPECT_EQ(far_user_.disconnected, one.status != WorkStatus::success);
  }
}

TEST_F(SimTest, an_invalidated_key_is_of_no_more_use) {
  establish();
  offer(Access::remote_write);
  const auto memory = client_.register_memory(there_, Access::local).value();
  Done received;
  ASSERT_TRUE(near_->post_receive(received, {there_.data(), 64, memory->local_key()}));
  run(Opcode::send_invalidate, 4, 0, remote_->remote_key());
  EXPECT_TRUE(done_.is(WorkStatus::success));
  done_.ended.clear();
  run(Opcode::write, 4, there(), remote_->remote_key());
  EXPECT_TRUE(done_.is(WorkStatus::remote_access));
}

TEST_F(SimTest, a_device_that_does_not_invalidate_refuses_to) {
  Host plain(fabric_, "plain", {.requests_max = 16, .pieces_max = 4, .reads_max = 4});
  listener_ = plain.listen(address_, listening_).value();
  near_ = client_.connect(listener_->address(), {8, 8}, near_user_).value();
  settle();
  ASSERT_TRUE(near_->start({.private_data = {}, .reads_out = 0, .reads_in = 4}));
  settle();
  far_ = plain.open(std::move(listening_.request), {8, 8}, far_user_).value();
  ASSERT_TRUE(far_->start({}));
  settle();
  const Request request{Opcode::send_invalidate, {}, RemoteKey(1), 0};
  EXPECT_FALSE(far_->post(done_, {&request, 1}));
  far_.reset();
  listener_.reset();
}

TEST_F(SimTest, memory_of_ours_has_to_be_registered) {
  establish();
  offer(Access::remote_write);
  std::array<std::byte, 8> other{};
  const LocalPiece local{other.data(), 8, local_->local_key()};
  const Request request{Opcode::write, {&local, 1}, remote_->remote_key(), there()};
  ASSERT_TRUE(far_->post(done_, {&request, 1}));
  settle();
  EXPECT_TRUE(done_.is(WorkStatus::local_error));
}

TEST_F(SimTest, queues_have_the_depth_that_was_asked_for) {
  establish();
  const LocalPiece local = piece(4);
  const std::vector<Request> nine(9, Request{Opcode::send, {&local, 1}, {}, 0});
  Done eight;
  Done more;
  ASSERT_TRUE(far_->post(eight, std::span(nine).first(8)));
  EXPECT_FALSE(far_->post(more, std::span(nine).first(1)));
  std::array<Done, 8> received;
  for (Done& one : received) ASSERT_TRUE(far_->post_receive(one, local));
  EXPECT_FALSE(far_->post_receive(done_, local));
  far_->disconnect();
  settle();
  for (const Done& one : received) EXPECT_TRUE(one.is(WorkStatus::flushed));
  EXPECT_TRUE(eight.is(WorkStatus::flushed));
  EXPECT_TRUE(more.ended.empty());
}

TEST_F(SimTest, a_silent_send_is_copied_and_its_room_comes_back_with_a_later_completion) {
  establish();
  const auto memory = client_.register_memory(there_, Access::local).value();
  std::array<Done, 8> received;
  for (Done& one : received) ASSERT_TRUE(near_->post_receive(one, {there_.data(), 64, memory->local_key()}));
  here_[0] = std::byte{42};
  const LocalPiece local = piece(4);
  const std::array<Request, 1> send{Request{Opcode::send, {&local, 1}, {}, 0}};
  Done silent;
  for (int i = 0; i < 7; ++i) EXPECT_EQ(far_->post(std::array{Posting{&silent, send, true}}), 1U);
  here_[0] = std::byte{0};
  settle();
  EXPECT_EQ(there_[0], std::byte{42});
  EXPECT_TRUE(received[6].is(WorkStatus::success));
  EXPECT_TRUE(silent.ended.empty());
  EXPECT_EQ(server_.stats().heard, 0U);
  ASSERT_TRUE(far_->post(done_, send));
  EXPECT_EQ(far_->post(std::array{Posting{&silent, send, true}}), 0U);
  settle();
  EXPECT_TRUE(done_.is(WorkStatus::success));
  EXPECT_EQ(far_->post(std::array{Posting{&silent, send, true}}), 1U);
}

TEST_F(SimTest, a_silent_send_that_fails_is_told_to_the_user) {
  establish();
  server_.set_impatient(true);
  const LocalPiece local = piece(4);
  const std::array<Request, 1> send{Request{Opcode::send, {&local, 1}, {}, 0}};
  EXPECT_EQ(far_->post(std::array{Posting{&done_, send, true}}), 1U);
  settle();
  EXPECT_EQ(far_user_.silent_failure, WorkStatus::not_received);
  EXPECT_TRUE(far_user_.disconnected);
  EXPECT_TRUE(done_.ended.empty());
}

TEST_F(SimTest, a_chain_that_is_refused_in_its_middle_ends_the_connection_and_completes_when_taken_back) {
  establish();
  offer(Access::remote_write);
  here_.fill(std::byte{7});
  const LocalPiece local = piece(4);
  const auto to = [&](std::size_t i) {
    return Request{Opcode::write, {&local, 1}, remote_->remote_key(), there() + i};
  };
  const std::array<Request, 2> first{to(0), to(4)};
  const std::array<Request, 3> second{to(8), to(12), to(16)};
  const std::array<Request, 1> third{to(20)};
  Done behind;
  Done refused;
  const std::array<Posting, 3> postings{Posting{&done_, first}, Posting{&refused, second},
                                        Posting{&behind, third}};
  server_.refuse_posts(1, 3);
  EXPECT_EQ(far_->post(postings), 2U);
  EXPECT_EQ(server_.stats().doorbells, 1U);
  settle();
  EXPECT_TRUE(done_.is(WorkStatus::flushed));
  EXPECT_TRUE(far_user_.disconnected);
  EXPECT_TRUE(near_user_.disconnected);
  EXPECT_TRUE(refused.ended.empty());
  far_->take_back();
  settle();
  EXPECT_TRUE(refused.is(WorkStatus::local_error));
  EXPECT_TRUE(behind.ended.empty());
  EXPECT_FALSE(far_->post(behind, third));
}

TEST_F(SimTest, a_chain_completes_once_with_its_first_failure) {
  establish();
  offer(Access::remote_write);
  const LocalPiece local = piece(4);
  const std::array<Request, 3> chain{Request{Opcode::write, {&local, 1}, remote_->remote_key(), there()},
                                     Request{Opcode::write, {&local, 1}, RemoteKey(9), there()},
                                     Request{Opcode::send, {&local, 1}, {}, 0}};
  ASSERT_TRUE(far_->post(done_, chain));
  settle();
  EXPECT_TRUE(done_.is(WorkStatus::remote_access));
  EXPECT_TRUE(near_user_.disconnected);
}

TEST_F(SimTest, disconnecting_flushes_what_is_posted_on_both_sides) {
  establish();
  const LocalPiece local = piece(4);
  Done receive;
  ASSERT_TRUE(far_->post_receive(receive, local));
  const Request request{Opcode::send, {&local, 1}, {}, 0};
  ASSERT_TRUE(far_->post(done_, {&request, 1}));
  near_->disconnect();
  settle();
  EXPECT_TRUE(done_.is(WorkStatus::flushed));
  EXPECT_TRUE(receive.is(WorkStatus::flushed));
  EXPECT_TRUE(far_user_.disconnected);
}

TEST_F(SimTest, faults_come_when_they_were_ordered) {
  establish();
  offer(Access::remote_write);
  server_.inject(
      {.opcode = Opcode::write, .after = 1, .kind = Fault::Kind::fail, .status = WorkStatus::unanswered});
  run(Opcode::write, 4, there(), remote_->remote_key());
  EXPECT_TRUE(done_.is(WorkStatus::success));
  done_.ended.clear();
  run(Opcode::write, 4, there(), remote_->remote_key());
  EXPECT_TRUE(done_.is(WorkStatus::unanswered));
}

TEST_F(SimTest, a_device_that_does_not_flush_gives_back_what_is_taken_from_it) {
  establish();
  server_.never_flush();
  const LocalPiece local = piece(4);
  Done receive;
  ASSERT_TRUE(far_->post_receive(receive, local));
  const Request request{Opcode::send, {&local, 1}, {}, 0};
  ASSERT_TRUE(far_->post(done_, {&request, 1}));
  far_->disconnect();
  settle();
  EXPECT_TRUE(far_user_.disconnected);
  EXPECT_TRUE(done_.ended.empty());
  EXPECT_TRUE(receive.ended.empty());
  far_->take_back();
  settle();
  EXPECT_TRUE(done_.is(WorkStatus::flushed));
  EXPECT_TRUE(receive.is(WorkStatus::flushed));
  EXPECT_FALSE(far_->post_receive(receive, local));
}

TEST_F(SimTest, held_completions_come_when_they_are_released) {
  establish();
  offer(Access::remote_write);
  server_.hold_completions(true);
  run(Opcode::write, 4, there(), remote_->remote_key());
  EXPECT_TRUE(done_.ended.empty());
  server_.hold_completions(false);
  settle();
  EXPECT_TRUE(done_.is(WorkStatus::success));
}

}  // namespace
}  // namespace braid::rdma::sim
