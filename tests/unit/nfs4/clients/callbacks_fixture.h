// A server that calls a client with sessions over a connection in memory, whose other end the test plays.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/manual/manual_clock.h"
#include "nfs4/callback/callbacks.h"
#include "nfs4/recovery/client_store.h"
#include "rpc/memory/memory_transport.h"
#include "rpc/session.h"
#include "tests/unit/rpc/bytes.h"
#include "tests/unit/rpc/loop.h"

namespace braid::nfs4::callback {

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
                     std::vector<state::ClientObserver*>{}, clock_.now());
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
      callbacks_.emplace(*clients_, tcp, pool_, callback_options_);
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
    return make_session(session_request(0, 0, slots));
  }
  state::SessionRef make_session(state::CreateSessionRequest request) {
    return clients_->with([&](state::ClientTable& table) {
      state::Introduction who;
      who.minor_version = 1;
      who.owner = Bytes(4, std::byte{1});
      const auto client = table.exchange_id(std::move(who), false, clock_.now());
      request.client = client->client;
      request.sequence = client->sequence;
      const auto made = table.create_session(request, clock_.now());
      return table.find_session(made->session);
    });
  }
  [[nodiscard]] state::CreateSessionRequest session_request(clientid4 client, std::uint32_t sequence,
                                                            std::uint32_t slots = 2) const {
    state::CreateSessionRequest request;
    request.client = client;
    request.sequence = sequence;
    request.fore = request.back = {8192, 8192, 0, 8, slots};
    request.flags = CREATE_SESSION4_FLAG_CONN_BACK_CHAN;
    request.callback.program = program;
    request.connection = way_back_;
    return request;
  }
  void recall(Outcome& out, clientid4 client) {
    const CB_RECALL4args args{.stateid = {.seqid = 9, .other = {}}, .truncate = true, .fh = {}};
    io::spawn(gate_, keep(out, callbacks_->call(client, nfs_cb_opnum4::OP_CB_RECALL, args)));
  }
  static vfs::FileHandle longest_handle() {
    vfs::FileHandle handle;
    handle.size = vfs::FileHandle::bytes_max;
    return handle;
  }
  io::Op<> let_time_run_out() {
    clock_.advance(11s);
    co_await settle();  // a reactor looks at the clock once a turn
  }
  io::Op<> miss_a_call(const state::Session& session) {
    Outcome out;
    recall(out, session.client->id);
    co_await settle();
    co_await let_time_run_out();
    EXPECT_TRUE(out && !*out && out->error() == Failure::timed_out);
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
  CallbackOptions callback_options_;
  std::optional<Callbacks> callbacks_;
  io::Gate gate_;
};

}  // namespace braid::nfs4::callback
