#include "server/lane.h"

namespace braid::server {

base::Result<std::unique_ptr<Lane>> Lane::create(const LaneResources& resources) {
  auto reactor = io::Reactor::create({}, resources.clock);
  if (!reactor) return base::fail(reactor.error());
  return std::unique_ptr<Lane>(new Lane(std::move(*reactor), resources));
}

Lane::Lane(std::unique_ptr<io::Reactor> reactor, const LaneResources& resources)
    : reactor_(std::move(reactor)),
      slabs_(resources.slabs),
      worker_(resources.rpc, *reactor_, resources.slabs),
      tcp_(*reactor_, resources.slabs, &resources.pipes, resources.tcp, resources.tcp_metrics),
      thread_([this] { reactor_->run(); }) {}

Lane::~Lane() { base::check(!thread_.joinable(), "a lane is ended before it is destroyed"); }

std::future<bool> Lane::drain(base::Duration limit) {
  return run([this, limit] { return drain_calls(limit); });
}

std::future<std::optional<base::Errno>> Lane::start_rdma(const RdmaResources& resources) {
  return run([this, resources] { return open_rdma(resources); });
}

// On the lane's thread, whose reactor the completions come to.
io::Op<std::optional<base::Errno>> Lane::open_rdma(const RdmaResources& resources) {
  auto verbs = resources.provider.open(*reactor_);
  if (!verbs) return std::optional(verbs.error());
  verbs_ = std::move(*verbs);
  rdma_.emplace(*reactor_, slabs_, *verbs_, resources.maps, resources.options, resources.metrics);
  return std::optional<base::Errno>();
}

io::Op<> Lane::end_rdma(base::Duration limit) {
  if (!rdma_) co_return;
  (void)co_await rdma_->drain(limit);
  co_await rdma_->close();
  co_await verbs_->close();
  rdma_.reset();
  verbs_.reset();
}

io::Op<bool> Lane::drain_calls(base::Duration limit) {
  constexpr base::Duration look = std::chrono::milliseconds(5);
  const base::TimePoint deadline = reactor_->clock().now() + limit;
  (void)co_await tcp_.drain(limit);
  co_await tcp_.close();
  co_await end_rdma(limit);
  // Calls whose connection was closed under them still have to end.
  while (worker_.sessions() > 0 && reactor_->clock().now() < deadline) co_await reactor_->sleep(look);
  co_return worker_.sessions() == 0;
}

void Lane::end() {
  reactor_->stop();
  thread_.join();
}

}  // namespace braid::server
