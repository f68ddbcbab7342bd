// An RPC server behind a simulated device, and a client that puts its own bytes on the wire.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/manual/manual_clock.h"
#include "base/metrics.h"
#include "io/slab.h"
#include "rdma/admission.h"
#include "rdma/options.h"
#include "rdma/private_data.h"
#include "rdma/sim/fabric.h"
#include "rdma/worker.h"
#include "rpc/program.h"
#include "rpc/server.h"
#include "tests/unit/rdma/wire.h"
#include "tests/unit/rpc/loop.h"

namespace braid::rdma::test {

// Memory that the client offers to the server, filled with a pattern or with zeros.
class Offer {
 public:
  Offer(sim::Host& host, base::Bytes content, Access access);
  // All of it, or a part.
  [[nodiscard]] Segment segment() const;
  [[nodiscard]] Segment segment(std::size_t offset, std::size_t bytes) const;
  [[nodiscard]] const base::Bytes& content() const { return content_; }
  [[nodiscard]] base::Bytes first(std::size_t bytes) const {
    return {content_.begin(), content_.begin() + static_cast<std::ptrdiff_t>(bytes)};
  }

 private:
  base::Bytes content_;
  std::unique_ptr<MemoryRegion> region_;
};

struct ClientOptions {
  std::uint32_t receives = 64;
  std::uint32_t receive_bytes = 4096;
  std::uint32_t reads_in = 16;
  std::optional<PrivateData> private_data = PrivateData{4096, 4096, true};
};

// One connection. Belongs to the loop's thread.
class SimClient final : private EndpointUser {
 public:
  SimClient(sim::Host& host, const rpc::PeerAddress& to, const ClientOptions& options = {});
  ~SimClient() override;
  SimClient(const SimClient&) = delete;
  SimClient& operator=(const SimClient&) = delete;

  void send(base::Bytes message);
  [[nodiscard]] Offer writable(std::size_t bytes) {
    return {host_, base::Bytes(bytes), Access::remote_write};
  }
  [[nodiscard]] Offer readable(base::Bytes content) {
    return {host_, std::move(content), Access::remote_read};
  }
  void disconnect() { endpoint_->disconnect(); }
  // Nothing is posted any more: may be destroyed.
  [[nodiscard]] bool drained() const { return disconnected && posted_ == 0; }

  bool established = false;
  bool disconnected = false;
  std::string refusal;                // why the server did not take it
  PrivateData server;                 // what it said of itself
  std::vector<base::Bytes> messages;  // received
  std::size_t seen = 0;               // of them, by a test
  std::vector<WorkStatus> send_results;
  bool receives_again = true;  // a used receive is posted again

 private:
  struct Posted;
  void on_resolved() override;
  void on_established(const ConnectParameters& peer) override;
  void on_refused(base::BytesView why) override {
    refusal.assign(reinterpret_cast<const char*>(why.data()), why.size());
  }
  void on_disconnected() override { disconnected = true; }
  void post_receive();

  sim::Host& host_;
  const ClientOptions options_;
  std::unique_ptr<Endpoint> endpoint_;
  std::size_t posted_ = 0;
};

struct WorldOptions {
  RdmaOptions rdma;
  rpc::ServerOptions server;
  io::SlabPoolOptions pool{.bytes_max = 64 * base::MiB, .huge_pages = false};
  Registration registration = Registration::cache;
  DeviceLimits device = sim::Host::default_limits;
  std::size_t connections_max = 16384;
};

class World {
 public:
  World(std::span<const rpc::Program> programs, const WorldOptions& options = {});
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Runs body(world), a coroutine; then ends every connection and looks whether anything is left behind.
  template <class Body>
  void run(Body body) {
    loop.run([&]() -> io::Op<> {
      begin();
      co_await body();
      co_await finish();
    });
    expect_nothing_left();
  }
  // A client whose connection is established, or was refused.
  io::Op<SimClient*> connect(ClientOptions options = {});
  // Lets everything happen that can.
  io::Op<> settle();
  // What the device has not given back of connections that have ended is taken from it.
  io::Op<> flush_limit_passes();

  base::ManualClock clock;
  base::MetricRegistry registry;
  RdmaMetrics metrics{registry};
  io::SlabPool pool;
  sim::Fabric fabric;
  sim::Host host;  // the server's
  sim::Host client_host;
  rpc::Server server;
  rpc::test::Loop loop{clock};
  rpc::AddressTurns turns{loop.reactor()};
  std::optional<MemoryMaps> maps;
  std::optional<rpc::ServerWorker> worker;
  std::optional<RdmaWorker> rdma;
  std::size_t other_connections = 0;  // those of other transports, which count too
  std::optional<rpc::ConnectionLimit> limit;
  std::vector<std::unique_ptr<SimClient>> clients;
  rpc::PeerAddress address;

 private:
  void begin();
  io::Op<> finish();
  void expect_nothing_left();

  const WorldOptions options_;
  std::optional<Admission> admission_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace braid::rdma::test
