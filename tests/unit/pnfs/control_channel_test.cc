// Both ends of the control protocol over TCP.
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "rpc/client.h"
#include "rpc/tcp_connect.h"
#include "tests/unit/pnfs/control_fixture.h"

namespace braid::pnfs::test {
namespace {

// Says hello by hand, and sends what it likes.
class Forger {
 public:
  explicit Forger(const rpc::PeerAddress& to, Introduction own = data_server())
      : own_(std::move(own)), client_(on_.thread.reactor(), on_.pool, 77) {
    on_.thread.await([&] { return open(to); });
  }
  ~Forger() {
    on_.thread.await([this] { return client_.close(); });
  }
  Forger(const Forger&) = delete;
  Forger& operator=(const Forger&) = delete;

  [[nodiscard]] ControlSession& session() { return *session_; }
  control_status exchange(const control_sealed& message) {
    control_status status = CONTROL_OK;
    on_.thread.await([&] { return send(message, status); });
    return status;
  }
  control_status prove(const PROVEargs& args) {
    PROVEres answer;
    on_.thread.await([&] { return call(PNFS_CONTROL_V1_procedure::CONTROL_PROVE, args, answer); });
    return answer.status;
  }
  [[nodiscard]] const PROVEargs& proof() const { return proof_; }
  io::Payload payload(std::string_view text) {
    io::SlabRange range{on_.pool.acquire(io::SlabSize::small).value(), 0,
                        static_cast<std::uint32_t>(text.size())};
    std::ranges::copy(base::bytes_of(text), range.writable().begin());
    io::Payload out;
    out.append(std::move(range));
    return out;
  }

 private:
  template <class Args, class Res>
  io::Op<> call(PNFS_CONTROL_V1_procedure procedure, const Args& args, Res& answer) {
    last_ = co_await client_
                .call({PNFS_CONTROL, PNFS_CONTROL_V1, static_cast<std::uint32_t>(procedure)}, {},
                      [&args](xdr::Encoder& out) { encode(out, args); })
                .as_result();
    EXPECT_TRUE(last_);
    if (!last_) co_return;
    xdr::Decoder in = last_->decoder(arena_);
    EXPECT_TRUE(decode(in, answer));
  }
  io::Op<> open(rpc::PeerAddress to) {
    client_.attach(on_.tcp->open(co_await rpc::tcp_connect(on_.thread.reactor(), to), client_));
    HELLOres answer;
    co_await call(PNFS_CONTROL_V1_procedure::CONTROL_HELLO, own_.hello(), answer);
    const auto met = meet(secret_, own_.hello(), *answer.welcome());
    proof_ = met->prove;
    session_.emplace(met->session_key, proof_.session, ROLE_DATA, met->signs_bulk);
    PROVEres proved;
    co_await call(PNFS_CONTROL_V1_procedure::CONTROL_PROVE, proof_, proved);
    EXPECT_EQ(proved.status, CONTROL_OK);
  }
  io::Op<> send(control_sealed message, control_status& status) {
    EXCHANGEres answer;
    co_await call(PNFS_CONTROL_V1_procedure::CONTROL_EXCHANGE, message, answer);
    status = answer.status;
  }

  const ClusterSecret secret_ = secret_of(1);
  const OwnHello own_;
  Caller on_;
  rpc::Client client_;
  xdr::Arena arena_;
  base::Result<rpc::Results, rpc::CallError> last_;
  PROVEargs proof_;
  std::optional<ControlSession> session_;
};

TEST_F(ControlChannel, a_call_brings_body_and_bulk_there_and_back) {
  Peer peer(address());
  EXPECT_EQ(peer.call("body", "bulk"), Outcome("bodybulk"));
  EXPECT_EQ(peer.call("who"), Outcome("ds1"));
  const std::string large(BULK_BYTES_MAX, 'x');
  EXPECT_EQ(peer.call({}, large), Outcome(large));
  EXPECT_EQ(handler_.hellos, 1);
  EXPECT_EQ(service_.sessions(), 1U);
  const auto other = peer.with([](const ControlPeer& one) { return one.other(); });
  EXPECT_EQ(other, metadata_server());
}

TEST_F(ControlChannel, calls_that_find_no_session_share_one_hello) {
  Peer peer(address());
  EXPECT_THAT(peer.calls(50), testing::Each(Outcome("one")));
  EXPECT_EQ(handler_.hellos, 1);
}

TEST_F(ControlChannel, threads_have_sessions_of_their_own) {
  Peer first(address());
  Peer second(address());
  std::jthread other([&] {
    for (int i = 0; i < 50; ++i) EXPECT_EQ(second.call("b"), Outcome("b"));
  });
  for (int i = 0; i < 50; ++i) EXPECT_EQ(first.call("a", "x"), Outcome("ax"));
  other.join();
  EXPECT_EQ(service_.sessions(), 2U);
}

TEST_F(ControlChannel, a_wrong_secret_is_refused_before_anything_is_handled) {
  Peer peer(address(), 2);
  EXPECT_EQ(peer.call("body"), Outcome(std::unexpect, refused(CONTROL_REFUSED)));
  EXPECT_EQ(handler_.admitted, 0);
  EXPECT_EQ(handler_.calls, 0);
}

TEST_F(ControlChannel, hellos_are_refused_by_either_side) {
  Introduction unwanted = data_server();
  unwanted.name = "unwanted";
  EXPECT_EQ(Peer(address(), 1, unwanted).call("body"), Outcome(std::unexpect, refused(CONTROL_OTHER_SERVER)));
  EXPECT_EQ(Peer(address(), 1, metadata_server()).call("body"),
            Outcome(std::unexpect, refused(CONTROL_WRONG_ROLE)));
  Introduction foreign = data_server();
  foreign.cluster = {std::byte{9}};
  EXPECT_EQ(Peer(address(), 1, foreign).call("body"), Outcome(std::unexpect, refused(CONTROL_OTHER_CLUSTER)));
  EXPECT_EQ(Peer(address(), 1, data_server(), CONTROL_OTHER_SERVER).call("body"),
            Outcome(std::unexpect, refused(CONTROL_OTHER_SERVER)));
  EXPECT_EQ(handler_.admitted, 0);
  Introduction late = data_server();
  late.name = "late";
  EXPECT_EQ(Peer(address(), 1, late).call("body"), Outcome(std::unexpect, refused(CONTROL_OTHER_SERVER)));
  EXPECT_EQ(handler_.admitted, 1);
  EXPECT_EQ(handler_.calls, 0);
  EXPECT_EQ(service_.sessions(), 0U);
}

TEST_F(ControlChannel, a_refusal_of_the_handler_leaves_the_session) {
  Peer peer(address());
  EXPECT_EQ(peer.call("delay"), Outcome(std::unexpect, refused(CONTROL_DELAY)));
  EXPECT_EQ(peer.call("body"), Outcome("body"));
  EXPECT_EQ(handler_.hellos, 1);
}

TEST_F(ControlChannel, a_call_times_out_and_others_go_on) {
  Peer peer(address());
  EXPECT_EQ(peer.call("body"), Outcome("body"));
  EXPECT_EQ(peer.call("sleep", {}, 20ms), Outcome(std::unexpect, PeerError{.fault = PeerFault::timed_out}));
  EXPECT_EQ(peer.call("body"), Outcome("body"));
  EXPECT_EQ(handler_.hellos, 1);
}

TEST_F(ControlChannel, nobody_listens_and_the_next_call_costs_nothing) {
  const rpc::PeerAddress nowhere = [] {
    const base::UniqueFd socket = rpc::listen_on(rpc::parse_address("127.0.0.1", 0).value()).value();
    return rpc::local_of(socket.get()).value();
  }();
  Peer peer(nowhere);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(peer.call("body"), Outcome(std::unexpect, unreachable));
  EXPECT_THAT(peer.calls(10), testing::Each(Outcome(std::unexpect, unreachable)));
}

TEST_F(ControlChannel, after_the_connection_has_ended_the_next_call_makes_another) {
  Peer peer(address());
  EXPECT_EQ(peer.call("body"), Outcome("body"));
  server_->stop(rpc::test::plenty);
  // Until its end has been noticed, or the port is found closed.
  EXPECT_EQ(peer.call("body"), Outcome(std::unexpect, unreachable));
  Peer again(address());
  EXPECT_EQ(again.call("body"), Outcome(std::unexpect, unreachable));
}

TEST_F(ControlChannel, a_session_that_was_forgotten_is_made_anew_at_the_next_call) {
  class Small final : public ControlChannel {
   public:
    Small() : ControlChannel({.sessions_max = 2, .sessions_per_server_max = 1}) {}
    void TestBody() override {}
    using ControlChannel::address, ControlChannel::handler_, ControlChannel::service_;
  } small;
  Peer first(small.address());
  Peer second(small.address());
  Peer third(small.address(), 1, data_server(3));
  EXPECT_EQ(first.call("body"), Outcome("body"));
  EXPECT_EQ(third.call("body"), Outcome("body"));
  EXPECT_EQ(second.call("body"), Outcome("body"));  // takes the place of the first: the same server
  EXPECT_EQ(small.service_.sessions(), 2U);
  EXPECT_EQ(third.call("body"), Outcome("body"));
  EXPECT_EQ(first.call("body"), Outcome(std::unexpect, refused(CONTROL_REFUSED)));
  EXPECT_EQ(first.call("body"), Outcome("body"));
  EXPECT_EQ(small.handler_.hellos, 4);
}

TEST_F(ControlChannel, of_all_sessions_the_one_goes_that_was_idle_longest) {
  class Small final : public ControlChannel {
   public:
    Small() : ControlChannel({.sessions_max = 2, .sessions_per_server_max = 2}) {}
    void TestBody() override {}
    using ControlChannel::address, ControlChannel::clock_, ControlChannel::service_;
  } small;
  Peer first(small.address());
  Peer second(small.address(), 1, data_server(2));
  Peer third(small.address(), 1, data_server(3));
  EXPECT_EQ(first.call("body"), Outcome("body"));
  small.clock_.advance(1s);
  EXPECT_EQ(second.call("body"), Outcome("body"));
  small.clock_.advance(1s);
  EXPECT_EQ(first.call("body"), Outcome("body"));
  small.clock_.advance(1s);
  EXPECT_EQ(third.call("body"), Outcome("body"));
  EXPECT_EQ(first.call("body"), Outcome("body"));
  EXPECT_EQ(second.call("body"), Outcome(std::unexpect, refused(CONTROL_REFUSED)));
}

TEST_F(ControlChannel, a_call_that_is_repeated_is_refused_and_not_handled) {
  Forger forger(address());
  const base::Bytes body = bytes_of_text("body");
  const control_sealed first = forger.session().seal_call(body);
  const control_sealed second = forger.session().seal_call(body);
  EXPECT_EQ(forger.exchange(second), CONTROL_OK);
  EXPECT_EQ(forger.exchange(first), CONTROL_OK);  // overtaken is not repeated
  EXPECT_EQ(forger.exchange(first), CONTROL_REFUSED);
  EXPECT_EQ(forger.exchange(second), CONTROL_REFUSED);
  EXPECT_EQ(handler_.calls, 2);
}

TEST_F(ControlChannel, what_nobody_signed_is_refused_and_not_handled) {
  Forger forger(address());
  const base::Bytes body = bytes_of_text("body"), other = bytes_of_text("bodx");
  const control_sealed good = forger.session().seal_call(body);
  control_sealed bad = good;
  bad.body = other;
  EXPECT_EQ(forger.exchange(bad), CONTROL_REFUSED);
  bad = good;
  bad.sequence += 1;
  EXPECT_EQ(forger.exchange(bad), CONTROL_REFUSED);
  bad = good;
  bad.session += 1;
  EXPECT_EQ(forger.exchange(bad), CONTROL_REFUSED);
  bad = good;
  bad.mac[3] ^= std::byte{1};
  EXPECT_EQ(forger.exchange(bad), CONTROL_REFUSED);
  EXPECT_EQ(handler_.calls, 0);
  EXPECT_EQ(forger.exchange(good), CONTROL_OK);
}

TEST_F(ControlChannel, bulk_data_is_signed_where_the_caller_wants_that) {
  Introduction careful = data_server();
  careful.signs_bulk = true;
  {
    Peer peer(address(), 1, careful);
    const std::string large(BULK_BYTES_MAX, 'x');
    EXPECT_EQ(peer.call("body", large), Outcome("body" + large));
  }
  const base::Bytes body = bytes_of_text("body");
  const auto with_other_bulk = [&](Forger& forger) {
    control_sealed message = forger.session().seal_call(body, forger.payload("bulk"));
    message.bulk = forger.payload("bulx");
    return forger.exchange(message);
  };
  Forger signs(address(), careful), does_not(address());
  EXPECT_EQ(with_other_bulk(signs), CONTROL_REFUSED);
  EXPECT_EQ(with_other_bulk(does_not), CONTROL_OK);
}

TEST_F(ControlChannel, a_proof_is_good_once) {
  Forger forger(address());
  EXPECT_EQ(forger.prove(forger.proof()), CONTROL_REFUSED);
  EXPECT_EQ(handler_.admitted, 1);
  EXPECT_EQ(service_.sessions(), 1U);
}

TEST_F(ControlChannel, a_body_that_is_too_long_is_no_call) {
  Peer peer(address());
  EXPECT_EQ(peer.call(std::string(BODY_BYTES_MAX, 'x')), Outcome(std::string(BODY_BYTES_MAX, 'x')));
  EXPECT_EQ(peer.call(std::string(BODY_BYTES_MAX + 1, 'x')),
            Outcome(std::unexpect, PeerError{.fault = PeerFault::bad_reply}));
  EXPECT_EQ(handler_.calls, 1);
}

TEST_F(ControlChannel, calls_that_run_end_when_the_peer_is_closed) {
  Peer peer(address());
  EXPECT_EQ(peer.call("body"), Outcome("body"));
  std::jthread closer([&] {
    while (handler_.calls < 2) std::this_thread::sleep_for(1ms);
    peer.close();
  });
  EXPECT_EQ(peer.call("sleep"), Outcome(std::unexpect, PeerError{.fault = PeerFault::closing}));
  closer.join();
  EXPECT_EQ(peer.call("body"), Outcome(std::unexpect, PeerError{.fault = PeerFault::closing}));
}

TEST_F(ControlChannel, an_answer_to_another_operation_is_a_bad_reply) {
  Peer peer(address());
  std::optional<PeerFault> fault;
  const auto ask = [&](ControlPeer& one) -> io::Op<> {
    const auto args = to_metadata_args::with_heartbeat({});
    const auto reply = co_await one.call_metadata(args, patience).as_result();
    if (!reply) fault = reply.error().fault;
  };
  ControlPeer* const one = peer.with([](ControlPeer& self) { return &self; });
  peer.on.thread.await([&] { return ask(*one); });
  EXPECT_EQ(fault, PeerFault::bad_reply);  // an echo of the arguments is no result
}

TEST_F(ControlChannel, a_connection_that_answers_no_hello_is_given_up) {
  const base::UniqueFd deaf = rpc::listen_on(rpc::parse_address("127.0.0.1", 0).value()).value();
  const ControlPeerOptions impatient{
      .hello_timeout = 10ms, .retry_first = 0ms, .retry_max = 0ms, .channel = {}};
  Peer peer(rpc::local_of(deaf.get()).value(), 1, data_server(), CONTROL_OK, impatient);
  for (int i = 0; i < 2; ++i) {
    while (peer.call("body") != Outcome(std::unexpect, PeerError{.fault = PeerFault::timed_out})) {
    }
    // Blocks until there is one more.
    const base::UniqueFd connection(::accept(deaf.get(), nullptr, nullptr));
    EXPECT_TRUE(static_cast<bool>(connection));
  }
}

}  // namespace
}  // namespace braid::pnfs::test
