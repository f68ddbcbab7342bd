#include "server/server_thread.h"

#include <functional>
#include <numeric>

namespace braid::server {

base::Result<std::unique_ptr<ServerThread>> ServerThread::create(const ServerThreadResources& resources) {
  auto reactor = io::Reactor::create({}, resources.clock);
  if (!reactor) return base::fail(reactor.error());
  return std::unique_ptr<ServerThread>(new ServerThread(std::move(*reactor), resources));
}

ServerThread::ServerThread(std::unique_ptr<io::Reactor> reactor, const ServerThreadResources& resources)
    : reactor_(std::move(reactor)),
      slabs_(resources.slabs),
      tcp_(*reactor_, resources.slabs, &resources.pipes, resources.tcp, resources.tcp_metrics) {
  for (rpc::Server* role : resources.roles) workers_.emplace_back(*role, *reactor_, resources.slabs);
  thread_ = std::thread([this] { reactor_->run(); });
}

ServerThread::~ServerThread() {
  base::check(!thread_.joinable(), "a server thread is ended before it is destroyed");
}

std::future<bool> ServerThread::drain(base::Duration limit) {
  return run([this, limit] { return drain_calls(limit); });
}

std::future<std::optional<base::Errno>> ServerThread::start_rdma(const RdmaResources& resources) {
  return run([this, resources] { return open_rdma(resources); });
}

// On the thread, whose reactor the completions come to.
io::Op<std::optional<base::Errno>> ServerThread::open_rdma(const RdmaResources& resources) {
  auto verbs = resources.provider.open(*reactor_);
  if (!verbs) return std::optional(verbs.error());
  verbs_ = std::move(*verbs);
  rdma_.emplace(*reactor_, slabs_, *verbs_, resources.maps, resources.options, resources.metrics,
                tcp_.turns());
  // Whoever calls other servers gives up sooner than a client of ours has to.
  constexpr base::Duration stall_limit = std::chrono::seconds(5);
  constexpr base::Duration look = std::chrono::seconds(1);
  connector_.emplace(*reactor_, slabs_, *verbs_, resources.maps,
                     rdma::RdmaClientOptions{.credits = resources.options.credits,
                                             .inline_bytes = resources.options.inline_bytes,
                                             .stall_limit = stall_limit,
                                             .sweep_interval = look});
  return std::optional<base::Errno>();
}

io::Op<> ServerThread::end_rdma(base::Duration limit) {
  if (!rdma_) co_return;
  (void)co_await rdma_->drain(limit);
  co_await rdma_->close();
  co_await connector_->close();
  co_await verbs_->close();
  rdma_.reset();
  connector_.reset();
  verbs_.reset();
}

io::Op<bool> ServerThread::drain_calls(base::Duration limit) {
  constexpr base::Duration look = std::chrono::milliseconds(5);
  const base::TimePoint deadline = reactor_->clock().now() + limit;
  (void)co_await tcp_.drain(limit);
  co_await tcp_.close();
  co_await end_rdma(limit);
  // Calls whose connection was closed under them still have to end.
  while (sessions() > 0 && reactor_->clock().now() < deadline) co_await reactor_->sleep(look);
  co_return sessions() == 0;
}

std::size_t ServerThread::sessions() const {
  return std::transform_reduce(workers_.begin(), workers_.end(), std::size_t{0}, std::plus<>(),
                               [](const rpc::ServerWorker& worker) { return worker.sessions(); });
}

void ServerThread::end() {
  reactor_->stop();
  thread_.join();
}

}  // namespace braid::server
