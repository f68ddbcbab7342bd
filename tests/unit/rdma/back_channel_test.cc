// Calls of the server on the connection of its client: RFC 8167.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "rpc/client.h"
#include "tests/unit/rdma/connection_fixture.h"

namespace braid::rdma {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): the words of these tests

class BackChannelTest : public ConnectionTest {
 protected:
  // A client that can be called, and has been called twice: RFC 8167 allows one until it grants more.
  io::Op<SimClient*> called_twice() {
    gate_.emplace();
    ended_.clear();
    SimClient* client = co_await world_->connect();
    client->send(Wire(7, 32, 0).with(call(7, proc_way)));
    (void)co_await answer_to(*client);
    for (int i = 0; i < 2; ++i) io::spawn(*gate_, call_back());
    co_await world_->settle();
    EXPECT_EQ(client->messages.size(), 2U);
    co_return client;
  }
  static std::uint32_t xid_of(const Bytes& message) { return rpc::test::u32_at(message, 0); }
  // After the client has said something about the first call, the second one comes.
  io::Op<> expect_second(SimClient& client) {
    co_await world_->settle();
    EXPECT_EQ(client.messages.size(), 3U);
    EXPECT_FALSE(client.disconnected);
    client.disconnect();
    co_await gate_->drained();
  }

  std::vector<bool> ended_;
  std::optional<io::Gate> gate_;

 private:
  io::Op<> call_back() {
    const auto back = service_.way_back.lock();
    auto results =
        co_await back->client().call({1, 2, 3}, {}, [](xdr::Encoder& out) { out.u32(77); }).as_result();
    ended_.push_back(results.has_value());
  }
};

TEST_F(BackChannelTest, the_server_calls_back_on_the_same_connection) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await called_twice();
    const Bytes asked = client.messages.back();
    const std::uint32_t xid = xid_of(asked);
    EXPECT_EQ(asked, joined(words({xid, 1, 16, 0, 0, 0, 0}), rpc::test::call_of(xid, 1, 2, 3, words({77}))));
    client.send(joined(words({xid, 1, 8, 0, 0, 0, 0}), success(xid)));
    co_await world_->settle();
    EXPECT_EQ(ended_, std::vector<bool>{true});
    EXPECT_EQ(client.messages.size(), 3U);
    const std::uint32_t next = xid_of(client.messages.back());
    client.send(joined(words({next, 1, 8, 0, 0, 0, 0}), success(next)));
    co_await world_->settle();
    EXPECT_EQ(ended_, (std::vector<bool>{true, true}));
    co_await gate_->drained();
  });
}

TEST_F(BackChannelTest, a_reply_that_grants_nothing_grants_one_call) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await called_twice();
    const std::uint32_t xid = xid_of(client.messages.back());
    client.send(joined(words({xid, 1, 0, 0, 0, 0, 0}), success(xid)));
    co_await expect_second(client);
    EXPECT_EQ(ended_, (std::vector<bool>{true, false}));
  });
}

TEST_F(BackChannelTest, a_reply_with_two_xids_is_dropped_and_takes_no_credit) {
  run([&]() -> io::Op<> {
    SimClient& client = *co_await called_twice();
    const std::uint32_t xid = xid_of(client.messages.back());
    client.send(joined(words({xid + 9, 1, 1, 0, 0, 0, 0}), success(xid)));
    co_await expect_second(client);
    EXPECT_EQ(ended_, (std::vector<bool>{false, false}));
  });
}

TEST_F(BackChannelTest, an_error_takes_no_credit_whether_it_can_be_read_or_not) {
  for (const std::uint32_t code : {2U, 77U}) {
    run([&]() -> io::Op<> {
      SimClient& client = *co_await called_twice();
      const std::uint32_t xid = xid_of(client.messages.back());
      client.send(words({xid, 1, 1, 4, code}));
      co_await expect_second(client);
      EXPECT_EQ(world_->metrics.errors_received.value(), code == 2 ? 1U : 0U);
    });
  }
}

}  // namespace
}  // namespace braid::rdma
