// A server of the data program behind a simulated device, in the thread of one reactor.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "bench/rdma/data_program.h"
#include "io/gate.h"
#include "io/reactor.h"
#include "io/slab.h"
#include "rdma/options.h"
#include "rdma/sim/fabric.h"
#include "rdma/worker.h"
#include "rpc/server.h"

namespace braid::bench {

// Runs body(), a coroutine, on a reactor of the calling thread until it ends.
template <class Body>
void run_on_reactor(const base::Clock& clock, Body body) {
  auto reactor = io::Reactor::create({}, clock).value();
  io::Gate gate;
  auto rest = [](io::Reactor& on, Body& run) -> io::Op<> {
    (void)co_await run(on).as_result();
    // Behind the end of this coroutine, which is in the ready queue then.
    on.post(std::function<void()>([&on] { on.stop(); }));
  };
  reactor->post(std::function<void()>([&] { io::spawn(gate, rest(*reactor, body)); }));
  reactor->run();
}

// Lets everything happen that can without time passing.
io::Op<> settle(io::Reactor& reactor);

// Life: made on the reactor's thread; close() has ended before it is destroyed.
class DataServer : private rdma::ListenerUser {
 public:
  DataServer(io::Reactor& reactor, rdma::sim::Fabric& fabric, rdma::Registration registration,
             const rdma::RdmaOptions& options);
  ~DataServer() override;
  DataServer(const DataServer&) = delete;
  DataServer& operator=(const DataServer&) = delete;
  io::Op<> close();

  [[nodiscard]] const rpc::PeerAddress& address() const { return listener_->address(); }
  [[nodiscard]] rdma::sim::Host& host() { return host_; }
  [[nodiscard]] io::SlabPool& pool() { return pool_; }
  [[nodiscard]] const rdma::RdmaMetrics& metrics() const { return metrics_; }

 private:
  void on_request(std::unique_ptr<rdma::ConnectRequest> request) override;

  base::MetricRegistry registry_;
  rdma::RdmaMetrics metrics_{registry_};
  io::SlabPool pool_{{.bytes_max = 512 * base::MiB, .huge_pages = true}};
  rdma::sim::Host host_;
  std::optional<DataService> service_;
  std::vector<rpc::Program> programs_;
  std::optional<rpc::Server> server_;
  std::optional<rpc::ServerWorker> worker_;
  std::optional<rdma::MemoryMaps> maps_;
  std::optional<rpc::AddressTurns> turns_;
  std::optional<rdma::RdmaWorker> rdma_;
  std::unique_ptr<rdma::Listener> listener_;
};

}  // namespace braid::bench
