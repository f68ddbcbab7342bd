// Calls to clients: over the back channel of a session (in memory), and to the address of a 4.0 client (TCP).
#include "nfs4/callback/callbacks.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nfs4/callback/universal_address.h"
#include "rpc/memory_transport.h"
#include "rpc/session.h"
#include "tests/unit/rpc/bytes.h"
#include "tests/unit/rpc/loop.h"
#include "tests/unit/rpc/tcp_fixture.h"

namespace braid::nfs4::callback {
namespace {

using namespace std::chrono_literals;
using enum nfsstat4;
using base::Bytes;
using rpc::test::append;
using rpc::test::words;

constexpr std::uint32_t program = 0x4000'0007;

// The client's end of a connection, played by the test.
class Peer final : public rpc::Receiver {
 public:
  bool ready(rpc::Connection&) override { return true; }
  void on_message(rpc::Connection&, io::Payload message, base::TimePoint) override {
    calls.push_back(rpc::test::bytes_of(message));
  }
  void on_sent(rpc::Connection&, std::size_t) override {}
  [[nodiscard]] bool idle() const override { return true; }
  void on_closed(rpc::Connection&) override {}
  std::vector<Bytes> calls;
};

using Outcome = std::optional<base::Result<nfsstat4, Failure>>;

class CallbacksTest : public testing::Test {
 protected:
  CallbacksTest() : directory_(testing::TempDir() + "callbacks_XXXXXX") {
    EXPECT_NE(::mkdtemp(directory_.data()), nullptr);
    store_ = recovery::ClientStore::open(directory_ + "/nfs4").value();
    clients_.emplace(state::ClientOptions(), *store_, base::SipKey{3, 4}, blocking_,
                     state::StateHooks{[](clientid4) { return false; }, [](clientid4) {}}, clock_.now());
  }
  ~CallbacksTest() override {
    clients_.reset();
    blocking_.stop();
    std::filesystem::remove_all(directory_);
  }

  template <class Body>
  void run(Body body) {
    loop_.run([&]() -> io::Op<> {
      rpc::TcpWorker tcp(loop_.reactor(), pool_, nullptr, rpc::TcpOptions{}, tcp_metrics_);
      worker_.emplace(server_, loop_.reactor(), pool_);
      pair_.set_client_receiver(peer_);
      auto& session = static_cast<rpc::Session&>(worker_->on_connected(pair_.server_end()));
      pair_.set_server_receiver(session);
      way_back_ = {session.number(), session.back_channel()};
      callbacks_.emplace(*clients_, tcp, pool_, CallbackOptions{});
      co_await body();
      pair_.client_end().close();
      co_await settle();
      co_await gate_.drained();
      co_await callbacks_->close();
      co_await tcp.close();
      callbacks_.reset();
      EXPECT_EQ(worker_->sessions(), 0U);
      worker_.reset();
    });
  }
  io::Op<> settle() {
    for (int i = 0; i < 500; ++i) co_await loop_.reactor().yield();
  }

  // A 4.1 client with a session whose back channel is the connection.
  state::SessionRef make_session(std::uint32_t slots = 2) {
    return clients_->with([&](state::ClientTable& table) {
      state::Introduction who;
      who.minor_version = 1;
      who.owner = Bytes(4, std::byte{1});
      const auto client = table.exchange_id(std::move(who), false, clock_.now());
      state::CreateSessionRequest request;
      request.client = client->client;
      request.sequence = client->sequence;
      request.fore = request.back = {8192, 8192, 0, 8, slots};
      request.flags = CREATE_SESSION4_FLAG_CONN_BACK_CHAN;
      request.callback.program = program;
      request.connection = way_back_;
      const auto made = table.create_session(request, clock_.now());
      return table.find_session(made->session);
    });
  }
  void recall(Outcome& out, clientid4 client) {
    const CB_RECALL4args args{.stateid = {.seqid = 9, .other = {}}, .truncate = true, .fh = {}};
    io::spawn(gate_, keep(out, callbacks_->call(client, nfs_cb_opnum4::OP_CB_RECALL, args)));
  }
  static io::Op<> keep(Outcome& out, CallbackOp<Answer> call) {
    const auto answer = co_await std::move(call).as_result();
    if (answer)
      out = answer->status;
    else
      out = base::fail(answer.error());
  }
  // Answers the call that came last: what follows the RPC header.
  void answer(const Bytes& results) {
    Bytes reply = words({rpc::test::u32_at(peer_.calls.back(), 0), 1, 0, 0, 0, 0});
    append(reply, results);
    xdr::Message message;
    message.bytes = rpc::test::payload_of(pool_, reply);
    pair_.client_end().send(std::move(message));
  }
  static Bytes sequence_ok(const state::Session& session, std::uint32_t sequence, std::uint32_t slot,
                           std::uint32_t target) {
    Bytes out = words({11, 0});
    append(out, session.id);
    append(out, words({sequence, slot, target, target}));
    return out;
  }
  // CB_COMPOUND4res of a client that did what it was asked.
  static Bytes done(const state::Session& session, std::uint32_t sequence, std::uint32_t slot = 0,
                    std::uint32_t status = 0, std::uint32_t target = 1) {
    Bytes out = words({status, 0, 2});
    append(out, sequence_ok(session, sequence, slot, target));
    append(out, words({4, status}));
    return out;
  }
  static Bytes sequence_failed(nfsstat4 status) {
    const auto number = static_cast<std::uint32_t>(status);
    return words({number, 0, 1, 11, number});
  }
  // csa_sequenceid of the call that came last.
  std::uint32_t sequence_of_call() { return rpc::test::u32_at(peer_.calls.back(), 40 + 16 + 4 + 16); }

  std::string directory_;
  base::ManualClock clock_;
  base::MetricRegistry registry_;
  io::SlabPool pool_{{.bytes_max = 64 * base::MiB, .huge_pages = false}};
  io::BlockingPool blocking_{{.threads_max = 1}};
  std::unique_ptr<recovery::ClientStore> store_;
  std::optional<Clients> clients_;
  rpc::TcpMetrics tcp_metrics_{registry_};
  rpc::Server server_{{}, {}, registry_, base::SipKey{1, 2}};
  rpc::test::Loop loop_{clock_};
  rpc::MemoryPair pair_{{}, {}, clock_};
  Peer peer_;
  std::optional<rpc::ServerWorker> worker_;
  state::BackConnection way_back_;
  std::optional<Callbacks> callbacks_;
  io::Gate gate_;
};

TEST_F(CallbacksTest, a_call_has_the_bytes_of_the_rfc) {
  run([&]() -> io::Op<> {
    const auto session = make_session();
    EXPECT_TRUE(callbacks_->reachable(session->client->id));
    Outcome out;
    recall(out, session->client->id);
    co_await settle();
    EXPECT_EQ(peer_.calls.size(), 1U);
    Bytes expected = words({0, 2, program, 1, 1, 0, 0, 0, 0});  // CALL to CB_COMPOUND, AUTH_NONE
    append(expected, words({0, 1, 0, 2}));                      // tag, minor version, ident, operations
    append(expected, words({11}));                              // CB_SEQUENCE
    append(expected, session->id);                              //
    append(expected, words({1, 0, 0, 0, 0}));                   // sequence id, slot, highest, cache, lists
    append(expected, words({4, 9, 0, 0, 0, 1, 0}));             // CB_RECALL: stateid, truncate, handle
    const Bytes& call = peer_.calls.back();
    EXPECT_EQ(Bytes(call.begin() + 4, call.end()), expected);
    answer(done(*session, 1));
    co_await settle();
    EXPECT_TRUE(out && *out);
    EXPECT_EQ(**out, NFS4_OK);
  });
}

TEST_F(CallbacksTest, the_clients_status_comes_back_and_the_slot_counts_on) {
  run([&]() -> io::Op<> {
    const auto session = make_session();
    for (std::uint32_t i = 1; i <= 3; ++i) {
      Outcome out;
      recall(out, session->client->id);
      co_await settle();
      EXPECT_EQ(sequence_of_call(), i);
      answer(done(*session, i, 0, 10008));
      co_await settle();
      EXPECT_TRUE(out && *out);
      EXPECT_EQ(**out, NFS4ERR_DELAY);
    }
  });
}

TEST_F(CallbacksTest, calls_side_by_side_use_slots_of_their_own_and_end_when_there_are_none) {
  run([&]() -> io::Op<> {
    const auto session = make_session(2);
    Outcome first;
    Outcome second;
    Outcome third;
    recall(first, session->client->id);
    recall(second, session->client->id);
    recall(third, session->client->id);
    co_await settle();
    EXPECT_EQ(peer_.calls.size(), 2U);
    EXPECT_TRUE(third && !*third && third->error() == Failure::busy);
    answer(done(*session, 1, 1));
    co_await settle();
    EXPECT_TRUE(second && *second);
    EXPECT_FALSE(first);
  });
  EXPECT_EQ(gate_.count(), 0U);
}

TEST_F(CallbacksTest, a_slot_that_is_out_of_step_counts_from_one_again) {
  run([&]() -> io::Op<> {
    const auto session = make_session();
    Outcome out;
    recall(out, session->client->id);
    co_await settle();
    answer(done(*session, 1));
    co_await settle();
    Outcome later;
    recall(later, session->client->id);
    co_await settle();
    EXPECT_EQ(sequence_of_call(), 2U);
    answer(sequence_failed(NFS4ERR_SEQ_MISORDERED));
    co_await settle();
    EXPECT_EQ(sequence_of_call(), 1U);
    answer(done(*session, 1));
    co_await settle();
    EXPECT_TRUE(later && *later);
    EXPECT_FALSE(session->back_health().fault);
  });
}

TEST_F(CallbacksTest, a_sequence_id_that_the_client_has_seen_is_not_used_again) {
  run([&]() -> io::Op<> {
    const auto session = make_session();
    Outcome out;
    recall(out, session->client->id);
    co_await settle();
    answer(sequence_failed(NFS4ERR_RETRY_UNCACHED_REP));
    co_await settle();
    EXPECT_EQ(sequence_of_call(), 2U);
    answer(done(*session, 2));
    co_await settle();
    EXPECT_TRUE(out && *out);
  });
}

TEST_F(CallbacksTest, a_client_that_refuses_the_session_is_reachable_no_more) {
  run([&]() -> io::Op<> {
    const auto session = make_session();
    Outcome out;
    recall(out, session->client->id);
    co_await settle();
    answer(sequence_failed(NFS4ERR_BADSESSION));
    co_await settle();
    EXPECT_TRUE(out && !*out && out->error() == Failure::refused);
    EXPECT_FALSE(callbacks_->reachable(session->client->id));
    EXPECT_EQ(clients_->status_flags(*session) & SEQ4_STATUS_BACKCHANNEL_FAULT,
              SEQ4_STATUS_BACKCHANNEL_FAULT);
    // Binding a connection anew clears it.
    session->bind_back(way_back_);
    EXPECT_TRUE(callbacks_->reachable(session->client->id));
  });
}

TEST_F(CallbacksTest, nonsense_is_refused) {
  const auto session_of_nobody =
      std::make_shared<state::Session>(state::SessionId(), nullptr, state::SessionOptions());
  const Bytes cases[] = {{},
                         words({0}),
                         words({0, 0, 0}),
                         words({0, 0, 1, 12, 0}),
                         done(*session_of_nobody, 1),
                         words({0, 0, 0xffffffff, 11, 0})};
  for (const Bytes& nonsense : cases) {
    SCOPED_TRACE(nonsense.size());
    rpc::Results results{rpc::test::payload_of(pool_, nonsense), 0};
    state::SessionOptions options;
    options.back.slots = 1;
    const state::Session session({std::byte{1}}, nullptr, options);
    const auto decoded = decode_in_session(results, session, {.slot = 0, .sequence = 1, .highest = 0},
                                           nfs_cb_opnum4::OP_CB_RECALL);
    EXPECT_TRUE(!decoded && decoded.error() == Failure::refused);
  }
}

TEST_F(CallbacksTest, a_connection_that_ends_ends_the_call) {
  run([&]() -> io::Op<> {
    const auto session = make_session();
    Outcome out;
    recall(out, session->client->id);
    co_await settle();
    pair_.client_end().close();
    co_await settle();
    EXPECT_TRUE(out && !*out && out->error() == Failure::no_path);
    EXPECT_FALSE(callbacks_->reachable(session->client->id));
    const std::uint32_t down = SEQ4_STATUS_CB_PATH_DOWN | SEQ4_STATUS_CB_PATH_DOWN_SESSION;
    EXPECT_EQ(clients_->status_flags(*session), down);
  });
}

TEST_F(CallbacksTest, a_client_that_never_answers_ends_the_call_in_time) {
  run([&]() -> io::Op<> {
    const auto session = make_session(1);
    Outcome out;
    recall(out, session->client->id);
    co_await settle();
    clock_.advance(11s);
    co_await loop_.reactor().sleep(0s);
    co_await settle();
    EXPECT_TRUE(out && !*out && out->error() == Failure::timed_out);
    // The client may or may not have seen it: the same sequence id finds out.
    Outcome later;
    recall(later, session->client->id);
    co_await settle();
    EXPECT_EQ(sequence_of_call(), 1U);
    answer(done(*session, 1));
    co_await settle();
    EXPECT_TRUE(later && *later);
  });
}

TEST_F(CallbacksTest, a_client_without_a_way_back_is_not_called) {
  run([&]() -> io::Op<> {
    Outcome out;
    recall(out, 77);
    co_await settle();
    EXPECT_TRUE(out && !*out && out->error() == Failure::no_path);
    EXPECT_FALSE(callbacks_->reachable(77));
  });
}

TEST_F(CallbacksTest, delegations_and_slots_are_asked_for_by_number) {
  run([&]() -> io::Op<> {
    const auto session = make_session();
    callbacks_->recall_any(session->client->id, 77);
    callbacks_->recall_slots(session, 3);
    co_await settle();
    EXPECT_EQ(peer_.calls.size(), 2U);
    const auto tail = [](const Bytes& call, std::size_t count) {
      return Bytes(call.end() - static_cast<std::ptrdiff_t>(count), call.end());
    };
    EXPECT_EQ(tail(peer_.calls[0], 16), words({8, 77, 1, 3}));  // CB_RECALL_ANY: how many, read and write
    EXPECT_EQ(tail(peer_.calls[1], 8), words({10, 3}));         // CB_RECALL_SLOT
    answer(done(*session, 1, 1));
    co_await settle();
  });
}

// A 4.0 client's callback service.
class CallbackService final : public rpc::Service {
 public:
  std::atomic<std::uint32_t> calls{0};
  std::atomic<std::uint32_t> ident{0};
};

io::Op<rpc::Answer> cb_compound(rpc::Service& service, rpc::Call& call, rpc::Reply& reply) {
  auto& self = static_cast<CallbackService&>(service);
  CB_COMPOUND4args head;
  nfs_cb_opnum4 op{};
  CB_RECALL4args args;
  const bool good = decode(call.args, head) && decode(call.args, op) && decode(call.args, args) &&
                    head.argarray_count == 1 && head.minorversion == 0 && args.truncate;
  if (!good || call.args.remaining() != 0) return rpc::Answer::garbage_args;
  ++self.calls;
  self.ident = head.callback_ident;
  xdr::Encoder& out = reply.begin();
  encode(out, CB_COMPOUND4res{.status = NFS4ERR_BADHANDLE, .tag = {}, .resarray_count = 1});
  encode(out, op);
  encode(out, NFS4ERR_BADHANDLE);
  return rpc::Answer::success;
}

constexpr rpc::Procedure cb_procedures[] = {{.name = "CB_NULL"}, {"CB_COMPOUND", cb_compound}};
constexpr rpc::Version cb_versions[] = {{NFS_CB, cb_procedures}};

class Callbacks40Test : public CallbacksTest {
 protected:
  clientid4 confirm(const std::string& address) {
    return clients_->with([&](state::ClientTable& table) {
      state::Introduction who;
      who.owner = Bytes(4, std::byte{2});
      const auto set = table.set_client_id(
          std::move(who), {.program = program, .ident = 42, .netid = "tcp", .address = address},
          clock_.now());
      EXPECT_TRUE(table.confirm_client_id(set->client, set->confirm, {}, clock_.now()));
      return set->client;
    });
  }
};

TEST_F(Callbacks40Test, a_client_is_called_at_its_address) {
  CallbackService service;
  const rpc::Program cb{.number = program, .name = "CB", .versions = cb_versions, .service = &service};
  rpc::test::TcpServer client_side({}, {&cb, 1});
  const std::uint16_t port = client_side.address.port;
  run([&]() -> io::Op<> {
    const clientid4 client =
        confirm("127.0.0.1." + std::to_string(port / 256) + "." + std::to_string(port % 256));
    EXPECT_FALSE(callbacks_->reachable(client));
    callbacks_->probe(client);
    while (!callbacks_->reachable(client)) co_await loop_.reactor().yield();
    for (std::uint32_t i = 1; i <= 2; ++i) {
      const CB_RECALL4args args{.stateid = {}, .truncate = true, .fh = {}};
      const auto answer = co_await callbacks_->call(client, nfs_cb_opnum4::OP_CB_RECALL, args).as_result();
      EXPECT_TRUE(answer);
      if (answer) {
        EXPECT_EQ(answer->status, NFS4ERR_BADHANDLE);
      }
      EXPECT_EQ(service.calls, i);
    }
    EXPECT_EQ(service.ident, 42U);
  });
}

TEST_F(Callbacks40Test, a_client_that_cannot_be_reached_is_left_alone_for_a_while) {
  std::uint16_t port;
  {
    rpc::test::TcpServer gone;
    port = gone.address.port;
  }
  run([&]() -> io::Op<> {
    const clientid4 client =
        confirm("127.0.0.1." + std::to_string(port / 256) + "." + std::to_string(port % 256));
    for (int i = 0; i < 2; ++i) {
      const CB_RECALL4args args{.stateid = {}, .truncate = true, .fh = {}};
      const auto answer = co_await callbacks_->call(client, nfs_cb_opnum4::OP_CB_RECALL, args).as_result();
      EXPECT_TRUE(!answer && answer.error() == Failure::no_path);
      EXPECT_FALSE(callbacks_->reachable(client));
    }
  });
}

TEST(UniversalAddress, is_parsed_strictly) {
  const struct {
    const char* netid;
    const char* address;
    const char* text;  // null: refused
  } cases[] = {
      {"tcp", "192.0.2.1.8.1", "192.0.2.1:2049"},
      {"tcp", "192.0.2.1.0.1", "192.0.2.1:1"},
      {"tcp", "192.0.2.1.255.255", "192.0.2.1:65535"},
      {"tcp6", "2001:db8::1.8.1", "[2001:db8::1]:2049"},
      {"tcp", "2001:db8::1.8.1", nullptr},
      {"tcp6", "192.0.2.1.8.1", nullptr},
      {"udp", "192.0.2.1.8.1", nullptr},
      {"tcp", "192.0.2.1.0.0", nullptr},
      {"tcp", "192.0.2.1.256.1", nullptr},
      {"tcp", "192.0.2.1.8", nullptr},
      {"tcp", "192.0.2.1.8.-1", nullptr},
      {"tcp", "192.0.2.1.8.1x", nullptr},
      {"tcp", "host.8.1", nullptr},
      {"tcp", "8.1", nullptr},
      {"tcp", "", nullptr},
  };
  for (const auto& one : cases) {
    const auto parsed = parse_universal_address(one.netid, one.address);
    EXPECT_EQ(parsed.has_value(), one.text != nullptr) << one.address;
    if (parsed && one.text != nullptr) {
      EXPECT_EQ(parsed->text(), one.text);
    }
  }
}

}  // namespace
}  // namespace braid::nfs4::callback
