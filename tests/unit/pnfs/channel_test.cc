// What a metadata server says on a channel comes after all that it said there before.
#include <string>
#include <thread>

#include "tests/unit/pnfs/control_fixture.h"

namespace braid::pnfs::test {
namespace {

// A data server, called by a metadata server.
class Channels : public ControlChannel {
 protected:
  Channels() : ControlChannel({}, [] { return data_server(); }) {}
  ~Channels() override { handler_.released = true; }
  static ControlPeerOptions options(std::uint8_t boot, std::uint32_t number) {
    ControlPeerOptions out;
    out.retry_first = out.retry_max = 1ms;
    out.channel = {.boot = {std::byte{boot}}, .number = number};
    return out;
  }
  // A call of that peer runs, and is not waited for any more.
  void leave_running(Peer& peer) {
    const int before = handler_.calls;
    EXPECT_EQ(peer.call("wait", {}, 20ms), Outcome(std::unexpect, PeerError{.fault = PeerFault::timed_out}));
    while (handler_.calls == before) std::this_thread::sleep_for(1ms);
  }
  const Outcome not_yet_{std::unexpect, refused(CONTROL_DELAY)};
};

TEST_F(Channels, a_hello_is_refused_as_long_as_calls_of_the_channel_run) {
  Peer before(address(), 1, metadata_server(), CONTROL_OK, options(1, 0));
  leave_running(before);
  Peer after(address(), 1, metadata_server(), CONTROL_OK, options(1, 0));
  EXPECT_EQ(after.call("body"), not_yet_);
  EXPECT_EQ(before.call("body"), Outcome(std::unexpect, refused(CONTROL_REFUSED))) << "its session has ended";
  EXPECT_EQ(service_.sessions(), 1U);
  handler_.released = true;
  Outcome done = after.call("body");
  while (done == not_yet_) done = after.call("body");
  EXPECT_EQ(done, Outcome("body"));
  EXPECT_EQ(handler_.ended, 2) << "what ran before, and this";
  EXPECT_EQ(service_.sessions(), 1U);
}

TEST_F(Channels, another_channel_ends_nothing_and_another_start_ends_all) {
  Peer first(address(), 1, metadata_server(), CONTROL_OK, options(1, 0));
  Peer second(address(), 1, metadata_server(), CONTROL_OK, options(1, 1));
  leave_running(first);
  EXPECT_EQ(second.call("body"), Outcome("body"));
  EXPECT_EQ(first.call("body"), Outcome("body"));
  Peer restarted(address(), 1, metadata_server(), CONTROL_OK, options(2, 7));
  EXPECT_EQ(restarted.call("body"), not_yet_);
  EXPECT_EQ(second.call("body"), Outcome(std::unexpect, refused(CONTROL_REFUSED)));
}

TEST_F(Channels, a_call_that_timed_out_is_outlasted_by_the_next_session) {
  Peer peer(address(), 1, metadata_server(), CONTROL_OK, options(1, 0));
  leave_running(peer);
  EXPECT_FALSE(peer.outlast());
  handler_.released = true;
  while (!peer.outlast()) {
  }
  EXPECT_EQ(handler_.ended, 1);
  EXPECT_EQ(service_.sessions(), 1U);
  const int hellos = handler_.hellos;
  EXPECT_TRUE(peer.outlast());
  EXPECT_EQ(handler_.hellos, hellos) << "once is enough";
}

TEST_F(Channels, a_session_whose_calls_run_is_not_forgotten) {
  class Small final : public ControlChannel {
   public:
    Small()
        : ControlChannel({.sessions_max = 1, .sessions_per_server_max = 1}, [] { return data_server(); }) {}
    void TestBody() override {}
    using ControlChannel::address, ControlChannel::handler_;
  } small;
  Peer first(small.address(), 1, metadata_server(), CONTROL_OK, options(1, 0));
  Peer second(small.address(), 1, metadata_server(), CONTROL_OK, options(1, 1));
  EXPECT_EQ(first.call("wait", {}, 20ms), Outcome(std::unexpect, PeerError{.fault = PeerFault::timed_out}));
  while (small.handler_.calls == 0) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(second.call("body"), Outcome(std::unexpect, refused(CONTROL_BUSY)));
  small.handler_.released = true;
  while (small.handler_.ended == 0) std::this_thread::sleep_for(1ms);
  Outcome done = second.call("body");
  while (!done) done = second.call("body");
  EXPECT_EQ(done, Outcome("body"));
}

}  // namespace
}  // namespace braid::pnfs::test
