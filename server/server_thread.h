// One of the threads that serve: a reactor, and what serves on it.
#pragma once

#include <cstddef>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "io/gate.h"
#include "io/pipe.h"
#include "io/reactor.h"
#include "io/slab.h"
#include "rdma/admission.h"
#include "rdma/connector.h"
#include "rdma/options.h"
#include "rdma/registration.h"
#include "rdma/verbs.h"
#include "rdma/worker.h"
#include "rpc/server.h"
#include "rpc/tcp_listener.h"
#include "rpc/tcp_worker.h"

namespace braid::server {

// What server threads share; outlives them.
struct ServerThreadResources {
  const base::Clock& clock;
  io::SlabPool& slabs;
  io::PipePool& pipes;
  std::span<rpc::Server* const>
      roles;  // the RPC server of each role; the span itself is needed by create() only
  rpc::TcpMetrics& tcp_metrics;
  rpc::TcpOptions tcp;
};

// Used by the control thread. The thread runs from create() on; end() must be called before destruction.
class ServerThread {
 public:
  // Fails with the errno of io_uring_setup.
  static base::Result<std::unique_ptr<ServerThread>> create(const ServerThreadResources& resources);
  ~ServerThread();
  ServerThread(const ServerThread&) = delete;
  ServerThread& operator=(const ServerThread&) = delete;

  // Where connections to a role go; `role` is its place in the resources.
  [[nodiscard]] rpc::TcpListener::Target target(std::size_t role) { return {&tcp_, &workers_[role]}; }
  [[nodiscard]] rpc::TcpWorker& tcp() { return tcp_; }
  [[nodiscard]] io::Reactor& reactor() { return *reactor_; }
  [[nodiscard]] const io::Reactor& reactor() const { return *reactor_; }
  // Of clients, and those that the server has made.
  [[nodiscard]] std::size_t connections() const { return tcp_.connections() + rdma_connections(); }
  [[nodiscard]] std::size_t connections_made() const { return tcp_.connections_made(); }

  // Serves RPC over RDMA too; what it is given outlives drain(). The errno of the device, or
  // nothing if it worked.
  struct RdmaResources {
    rdma::Provider& provider;
    rdma::MemoryMaps& maps;
    rdma::RdmaMetrics& metrics;
    rdma::RdmaOptions options;
  };
  std::future<std::optional<base::Errno>> start_rdma(const RdmaResources& resources);
  // After start_rdma() succeeded; on the thread.
  [[nodiscard]] rdma::Verbs& verbs() { return *verbs_; }
  [[nodiscard]] rdma::Admission::Target rdma_target(std::size_t role) { return {&*rdma_, &workers_[role]}; }
  // Null: there is no RDMA. On the thread.
  [[nodiscard]] rdma::RdmaConnector* rdma_connector() { return connector_ ? &*connector_ : nullptr; }
  [[nodiscard]] std::size_t rdma_connections() const { return rdma_ ? rdma_->connections() : 0; }

  // Runs f(), an Op<T> that cannot fail, on the thread; the future is for another thread.
  template <class F>
  auto run(F f) {
    using Value = typename std::invoke_result_t<F&>::value_type;
    std::promise<Value> promise;
    std::future<Value> future = promise.get_future();
    auto shared = std::make_shared<Task<F, Value>>(std::move(f), std::move(promise));
    reactor_->post([this, shared] { io::spawn(tasks_, run_task(shared)); });
    return future;
  }

  // Finishes running calls for at most `limit`, then closes all connections; true if every call has ended.
  // Calls that hang in the file system keep this object from being destroyed.
  std::future<bool> drain(base::Duration limit);
  // Ends the thread, after drain() said true.
  void end();

 private:
  template <class F, class Value>
  struct Task {
    Task(F f, std::promise<Value> p) : function(std::move(f)), promise(std::move(p)) {}
    F function;
    std::promise<Value> promise;
  };
  template <class F, class Value>
  static io::Op<> run_task(std::shared_ptr<Task<F, Value>> task) {
    if constexpr (std::is_void_v<Value>) {
      co_await task->function();
      task->promise.set_value();
    } else {
      task->promise.set_value(co_await task->function());
    }
  }

  ServerThread(std::unique_ptr<io::Reactor> reactor, const ServerThreadResources& resources);
  io::Op<bool> drain_calls(base::Duration limit);
  io::Op<std::optional<base::Errno>> open_rdma(const RdmaResources& resources);
  io::Op<> end_rdma(base::Duration limit);
  // Connections of every role, and ended ones whose calls still run.
  [[nodiscard]] std::size_t sessions() const;

  std::unique_ptr<io::Reactor> reactor_;
  io::Gate tasks_;
  io::SlabPool& slabs_;
  std::deque<rpc::ServerWorker> workers_;  // one per role
  rpc::TcpWorker tcp_;
  std::unique_ptr<rdma::Verbs> verbs_;
  std::optional<rdma::RdmaWorker> rdma_;
  std::optional<rdma::RdmaConnector> connector_;
  std::thread thread_;
};

}  // namespace braid::server
