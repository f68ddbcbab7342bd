// When a pipe is tried and when not.
#include "rpc/bulk_receiver.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

namespace braid::rpc {
namespace {

class BulkReceiverTest : public testing::Test {
 protected:
  BulkReceiverTest() {
    std::array<int, 2> fds{-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds.data()), 0);
    peer_ = base::UniqueFd(fds[0]);
    socket_ = base::UniqueFd(fds[1]);
  }
  // Sends single bytes, each a piece of its own, until the pipe takes no more.
  void fill_up() {
    for (int i = 0; i < 100'000 && bulk_.active(); ++i) {
      ASSERT_EQ(::send(peer_.get(), "x", 1, 0), 1);
      if (!bulk_.receive(socket_.get())) break;
    }
    EXPECT_FALSE(bulk_.active());
    std::byte left;
    EXPECT_EQ(::recv(socket_.get(), &left, 1, 0), 1);
  }
  bool begins() {
    bulk_.begin(pipes_, base::MiB);
    return bulk_.active();
  }

  io::PipePool pipes_;
  BulkReceiver bulk_;
  base::UniqueFd peer_, socket_;
};

TEST_F(BulkReceiverTest, little_data_goes_without_a_pipe) {
  bulk_.begin(pipes_, BulkReceiver::bytes_min - 1);
  EXPECT_FALSE(bulk_.active());
  bulk_.begin(pipes_, BulkReceiver::bytes_min);
  EXPECT_TRUE(bulk_.active());
}

TEST_F(BulkReceiverTest, after_each_full_pipe_twice_as_many_records_do_without) {
  for (const int skipped : {1, 2, 4}) {
    ASSERT_TRUE(begins());
    fill_up();
    for (int i = 0; i < skipped; ++i) EXPECT_FALSE(begins()) << skipped;
  }
  EXPECT_TRUE(begins());
}

}  // namespace
}  // namespace braid::rpc
