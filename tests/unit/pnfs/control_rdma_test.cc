// The control protocol over RDMA: bulk data goes in chunks, and a server that breaks the rules is no answer.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/big_endian.h"
#include "tests/unit/pnfs/control_fixture.h"
#include "tests/unit/rdma/client_fixture.h"
#include "tests/unit/rdma/world.h"

namespace braid::pnfs::test {
namespace {

using rdma::test::append;
using rdma::test::words;

constexpr ControlPeer::ReplyBytes wide{.body = BODY_BYTES_MAX, .bulk = base::MiB};

// A peer on the loop's thread, with all that it needs.
class RdmaPeer {
 public:
  RdmaPeer(io::Reactor& reactor, io::SlabPool& slabs, rdma::sim::Host& host, rpc::PeerAddress to)
      : on(reactor, slabs, host),
        peer({.reactor = reactor,
              .connect = [this](rpc::PeerAddress at,
                                rpc::Client& client) { return on.connector.connect(at, client); }},
             slabs, to, secret_, metadata_server, [](const Introduction&) { return CONTROL_OK; },
             {.channel = {.boot = {}, .number = 0}}) {}
  io::Op<> close() {
    co_await peer.close();
    co_await on.close();
    co_await gate_.drained();
  }
  // What comes back: body and bulk data, one behind the other.
  io::Op<Outcome> call(std::string body, std::string bulk, ControlPeer::ReplyBytes room = wide) {
    const io::Payload data = bulk.empty() ? io::Payload() : on.payload(bytes_of_text(bulk));
    auto reply = co_await peer.call(bytes_of_text(body), data, patience, room).as_result();
    if (reply) co_return Outcome(text_of(reply->body) + text_of(reply->bulk));
    co_return Outcome(std::unexpect, PeerError{.fault = reply.error().fault, .status = reply.error().status});
  }
  // The same, beside the caller.
  void start(std::optional<Outcome>& out, std::string body) {
    io::spawn(gate_, keep(*this, out, std::move(body)));
  }
  rdma::test::Caller on;

 private:
  static io::Op<> keep(RdmaPeer& self, std::optional<Outcome>& out, std::string body) {
    Outcome done = co_await self.call(std::move(body), {});
    out.emplace(std::move(done));
  }
  const ClusterSecret secret_ = secret_of(1);
  io::Gate gate_;

 public:
  ControlPeer peer;
};

// Against our own server.
class ControlOverRdma : public testing::Test {
 protected:
  ControlOverRdma() : service_(world_clock_, secret_, [] { return data_server(); }, handler_) {}
  template <class Body>
  void run(Body body) {
    const std::vector<rpc::Program> programs{service_.program()};
    rdma::test::WorldOptions options;
    options.rdma.message_bytes_max = 8 * base::MiB;
    world_.emplace(programs, options);
    world_->run([&]() -> io::Op<> {
      peer_.emplace(world_->loop.reactor(), pool_, world_->client_host, world_->address);
      co_await body();
      co_await peer_->close();
      co_await world_->settle();
      peer_.reset();
    });
    EXPECT_EQ(world_->client_host.stats().regions, 0U);
  }

  base::ManualClock world_clock_;
  const ClusterSecret secret_ = secret_of(1);
  Echo handler_;
  ControlService service_;
  io::SlabPool pool_{{.bytes_max = 64 * base::MiB, .huge_pages = false}};
  std::optional<rdma::test::World> world_;
  std::optional<RdmaPeer> peer_;
};

TEST_F(ControlOverRdma, bodies_and_bulk_data_of_any_length_arrive_both_ways) {
  run([&]() -> io::Op<> {
    for (const std::size_t body : {10U, 5000U, 100'000U})
      for (const std::size_t bulk : {0U, 1U, 3000U, 5000U, 70'001U, 1'000'000U}) {
        const std::string one(body, 'b');
        const std::string two(bulk, 'd');
        const Outcome got = co_await peer_->call(one, two);
        EXPECT_EQ(got, Outcome(one + two)) << body << ", " << bulk;
      }
    EXPECT_GT(world_->metrics.read_chunks.value(), 0U);
    EXPECT_GT(world_->metrics.write_chunks.value(), 0U);
    EXPECT_EQ(peer_->on.connector.connections(), 1U) << "one hello";
  });
}

TEST_F(ControlOverRdma, a_reply_that_is_longer_than_its_room_is_no_answer) {
  run([&]() -> io::Op<> {
    const Outcome bulk =
        co_await peer_->call("one", std::string(100'000, 'd'), {.body = 100, .bulk = 50'000});
    EXPECT_FALSE(bulk);
    const Outcome body = co_await peer_->call(std::string(20'000, 'b'), "", {.body = 100, .bulk = 0});
    EXPECT_FALSE(body);
    const Outcome after = co_await peer_->call("after", "");
    EXPECT_EQ(after, Outcome("after"));
  });
}

TEST_F(ControlOverRdma, more_bulk_data_than_there_may_be_is_refused) {
  run([&]() -> io::Op<> {
    const Outcome more = co_await peer_->call("one", std::string(BULK_BYTES_MAX + 4, 'd'));
    EXPECT_FALSE(more);
    EXPECT_EQ(handler_.calls, 0);
    const Outcome after = co_await peer_->call("after", "");
    EXPECT_EQ(after, Outcome("after"));
  });
}

// Against a server that does what it is told.
class ScriptedControl : public testing::Test {
 protected:
  template <class Body>
  void run(Body body) {
    loop_.emplace(clock_);
    loop_->run([&]() -> io::Op<> {
      server_.emplace(server_host_, rpc::PeerAddress{.bytes = {}, .port = 20049});
      peer_.emplace(loop_->reactor(), pool_, client_host_, server_->address());
      peer_->start(out_, "body");
      co_await settle();
      EXPECT_EQ(server_->calls.size(), 1U) << "the hello";
      co_await body();
      co_await settle();
      EXPECT_TRUE(out_.has_value());
      co_await peer_->close();
      co_await settle();
      server_.reset();
    });
    peer_.reset();
    EXPECT_EQ(pool_.stats().bytes_used, 0U);
    EXPECT_EQ(client_host_.stats().regions, 0U);
  }
  io::Op<> settle() {
    for (int i = 0; i < 1000; ++i) co_await loop_->reactor().yield();
  }
  // Of the last call.
  [[nodiscard]] std::uint32_t xid() const { return base::load_be<std::uint32_t>(server_->calls.back(), 0); }

  base::ManualClock clock_;
  std::optional<rpc::test::Loop> loop_;
  io::SlabPool pool_{{.bytes_max = 64 * base::MiB, .huge_pages = false}};
  rdma::sim::Fabric fabric_;
  rdma::sim::Host server_host_{fabric_, "server"};
  rdma::sim::Host client_host_{fabric_, "client"};
  std::optional<rdma::test::ScriptedServer> server_;
  std::optional<RdmaPeer> peer_;
  std::optional<Outcome> out_;
};

TEST_F(ScriptedControl, a_connection_that_ends_during_a_call_ends_the_call) {
  run([&]() -> io::Op<> {
    server_->disconnect();
    co_return;
  });
  EXPECT_EQ(*out_, Outcome(std::unexpect, unreachable));
}

TEST_F(ScriptedControl, results_that_make_no_sense_are_no_hello) {
  run([&]() -> io::Op<> {
    base::Bytes reply = words({xid(), 1, 0, 0, 0, 0, 77, 0xffff'ffff, 3});
    server_->send(rdma::test::Wire(xid(), 32, 0).with(reply));
    co_await settle();
    server_->disconnect();
  });
  EXPECT_EQ(*out_, Outcome(std::unexpect, PeerError{.fault = PeerFault::bad_reply}));
}

TEST_F(ScriptedControl, noise_ends_the_connection) {
  run([&]() -> io::Op<> {
    server_->send(base::Bytes(300, std::byte{0xa5}));
    co_await settle();
    server_->disconnect();
  });
  EXPECT_FALSE(out_->has_value());
}

}  // namespace
}  // namespace braid::pnfs::test
