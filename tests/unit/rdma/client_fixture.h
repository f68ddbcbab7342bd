// What tests of the calling side have in common: a caller, and a server that does what the test says.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/manual/manual_clock.h"
#include "base/metrics.h"
#include "io/gate.h"
#include "io/slab.h"
#include "rdma/connector.h"
#include "rdma/private_data.h"
#include "rdma/sim/fabric.h"
#include "rpc/client.h"
#include "tests/unit/rdma/wire.h"
#include "tests/unit/rpc/loop.h"

namespace braid::rdma::test {

inline constexpr auto no_arguments = [](xdr::Encoder&) {};

// A client of RPC with all that it needs.
class Caller {
 public:
  Caller(io::Reactor& reactor, io::SlabPool& slabs, sim::Host& host, const RdmaClientOptions& options = {})
      : pool(slabs),
        maps_(pool, Registration::cache, metrics_),
        connector(reactor, pool, host, maps_, options),
        client(reactor, pool, 100) {}
  io::Op<> close() {
    co_await client.close();
    co_await connector.close();
    co_await gate_.drained();
  }

  using Outcome = std::optional<base::Result<rpc::Results, rpc::CallError>>;
  // Starts a call whose outcome arrives at `out`.
  template <class Encode>
  void start(Outcome& out, std::uint32_t procedure, const rpc::CallOptions& options, Encode encode) {
    io::spawn(gate_, keep(out, client.call({program, 1, procedure}, options, std::move(encode))));
  }
  static io::Op<> keep(Outcome& out, rpc::CallOp<rpc::Results> call) {
    out = co_await std::move(call).as_result();
  }
  io::Payload payload(const base::Bytes& bytes) { return payload_of(pool, bytes); }

  static constexpr std::uint32_t program = 0x2000'0301;
  io::SlabPool& pool;

 private:
  base::MetricRegistry registry_;
  RegistrationMetrics metrics_{registry_};
  MemoryMaps maps_;
  io::Gate gate_;

 public:
  RdmaConnector connector;
  rpc::Client client;
};

// Takes one connection and shows what comes; all that it does is what it is told to do.
class ScriptedServer final : private ListenerUser, private EndpointUser {
 public:
  ScriptedServer(sim::Host& host, const rpc::PeerAddress& at,
                 std::optional<PrivateData> private_data = PrivateData{4096, 4096, true});
  ~ScriptedServer() override;
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  void send(base::Bytes message, std::optional<RemoteKey> invalidated = std::nullopt);
  // Into memory of the client, and out of it. How it ended is the last of `results`.
  void write(const Segment& to, base::Bytes content);
  void read(const Segment& from);
  void disconnect() { endpoint_->disconnect(); }
  [[nodiscard]] const rpc::PeerAddress& address() const { return listener_->address(); }

  bool refuses = false;
  bool disconnected = false;
  PrivateData client;  // what it said of itself
  std::uint32_t reads_in = 0;
  std::vector<base::Bytes> calls;
  std::vector<WorkStatus> results;  // of what was posted, in order
  base::Bytes read_last;

 private:
  struct Posted;
  void on_request(std::unique_ptr<ConnectRequest> request) override;
  void on_established(const ConnectParameters&) override {}
  void on_disconnected() override { disconnected = true; }
  void post_receive();
  void post(Opcode opcode, base::Bytes content, const Segment& remote);

  sim::Host& host_;
  const std::optional<PrivateData> private_data_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Endpoint> endpoint_;
  std::size_t posted_ = 0;
};

class ScriptedTest : public testing::Test {
 protected:
  // Runs body(), a coroutine, with a connected caller; then ends all, and looks whether anything is left.
  template <class Body>
  void run(Body body, const RdmaClientOptions& options = {}) {
    loop_.emplace(clock_);
    loop_->run([&]() -> io::Op<> {
      server_.emplace(server_host_, rpc::PeerAddress{.bytes = {}, .port = 20049}, private_data_);
      caller_.emplace(loop_->reactor(), pool_, client_host_, options);
      co_await caller_->connector.connect(server_->address(), caller_->client);
      co_await body();
      client_host_.hold_completions(false);
      co_await caller_->close();
      co_await settle();
      EXPECT_EQ(caller_->connector.connections(), 0U);
      server_.reset();
    });
    caller_.reset();
    EXPECT_EQ(pool_.stats().bytes_used, 0U);
    EXPECT_EQ(client_host_.stats().regions, 0U);
    EXPECT_EQ(client_host_.endpoints(), 0U);
  }
  io::Op<> settle() {
    for (int i = 0; i < 1000; ++i) co_await loop_->reactor().yield();
  }
  // Registrations that exist only for calls: the pool's regions are registered for good.
  [[nodiscard]] std::size_t offered() const {
    return client_host_.stats().regions - caller_->pool.stats().bytes_mapped / io::region_bytes;
  }

  base::ManualClock clock_;
  std::optional<rpc::test::Loop> loop_;
  io::SlabPool pool_{{.bytes_max = 64 * base::MiB, .huge_pages = false}};
  sim::Fabric fabric_;
  sim::Host server_host_{fabric_, "server"};
  sim::Host client_host_{fabric_, "client"};
  std::optional<PrivateData> private_data_ = PrivateData{4096, 4096, true};
  std::optional<ScriptedServer> server_;
  std::optional<Caller> caller_;
};

}  // namespace braid::rdma::test
