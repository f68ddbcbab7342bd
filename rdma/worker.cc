#include "rdma/worker.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "rdma/admission.h"
#include "rdma/connection.h"
#include "rpc/peer_account.h"

namespace braid::rdma {
namespace {

constexpr auto memory_retry = std::chrono::milliseconds(10);
constexpr auto drain_look = std::chrono::milliseconds(5);

}  // namespace

RdmaWorker::RdmaWorker(io::Reactor& reactor, io::SlabPool& pool, Verbs& verbs, MemoryMaps& maps,
                       const RdmaOptions& options, RdmaMetrics& metrics, rpc::AddressTurns& turns)
    : reactor_(reactor),
      pool_(pool),
      verbs_(verbs),
      maps_(maps),
      options_(options),
      metrics_(metrics),
      turns_(turns),
      cursor_(pool),
      sweep_timer_(reactor) {}

RdmaWorker::~RdmaWorker() { base::check(open_.empty(), "a worker closes its connections before it ends"); }

void RdmaWorker::adopt(std::unique_ptr<ConnectRequest> request, rpc::Acceptor& acceptor,
                       rpc::ConnectionLimit::Place place) {
  count_.fetch_add(1, std::memory_order_relaxed);
  reactor_.post(std::function<void()>([this, raw = request.release(), &acceptor, place = std::move(place)] {
    take(std::unique_ptr<ConnectRequest>(raw), acceptor, place);
  }));
}

void RdmaWorker::take(std::unique_ptr<ConnectRequest> request, rpc::Acceptor& acceptor,
                      rpc::ConnectionLimit::Place place) {
  if (gate_.closed() || draining_) {
    count_.fetch_sub(1, std::memory_order_relaxed);
    return refuse(std::move(request), Refusal::draining, metrics_);
  }
  const rpc::PeerAddress peer = request->peer();
  auto& connection =
      *open_.emplace_back(std::make_unique<RdmaConnection>(*this, peer, acceptor, std::move(place)));
  holds_.emplace_back(gate_);
  turns_.enter(connection.turn_, rpc::peer_key(peer));
  start_sweeping();
  const auto accepted = connection.accept(std::move(request));
  if (accepted) return;
  metrics_.refused(Refusal::no_resources).add();
  base::log_event(rpc::log_source(peer), base::Level::warning, "rdma_connection_refused",
                  "peer={} reason={} error=\"{}\"", peer.text(), name_of(Refusal::no_resources),
                  base::message_of(accepted.error()));
  forget(connection);
}

std::size_t RdmaWorker::room() const {
  const io::SlabPoolStats slabs = pool_.stats();
  const std::size_t receives = std::size_t{options_.credits + options_.back_credits} * options_.inline_bytes;
  return (slabs.bytes_max - slabs.bytes_used) / (receives + io::small_slab_bytes);
}

void RdmaWorker::forget(RdmaConnection& connection) {
  turns_.leave(connection.turn_);
  const auto found = std::ranges::find(open_, &connection, &std::unique_ptr<RdmaConnection>::get);
  std::swap(*found, open_.back());
  open_.pop_back();
  count_.fetch_sub(1, std::memory_order_relaxed);
  holds_.pop_back();
  if (gate_.closed() && open_.empty()) sweep_timer_.cancel();
}

void RdmaWorker::retry_later() {
  if (std::exchange(retrying_, true)) return;
  io::spawn(gate_, retry());
}

io::Op<> RdmaWorker::retry() {
  co_await reactor_.sleep(memory_retry);
  retrying_ = false;
  for (const auto& connection : open_) connection->retry();
}

void RdmaWorker::start_sweeping() {
  if (std::exchange(sweeping_, true)) return;
  io::spawn(gate_, sweep());
}

io::Op<> RdmaWorker::sweep() {
  while (!open_.empty()) {
    // The wait stands outside of the condition: g++ 12 drops the body of a coroutine with `if (co_await
    // temporary)`.
    const bool due = co_await sweep_timer_.until(reactor_.clock().now() + options_.sweep_interval);
    if (!due) break;
    check_limits();
  }
  sweeping_ = false;
}

void RdmaWorker::check_limits() {
  const base::TimePoint now = reactor_.clock().now();
  for (const auto& connection : open_) connection->check_limits(now);
}

bool RdmaWorker::all_quiet() const {
  return std::ranges::all_of(open_, [](const auto& connection) { return connection->quiet(); });
}

io::Op<bool> RdmaWorker::drain(base::Duration limit) {
  draining_ = true;
  const base::TimePoint deadline = reactor_.clock().now() + limit;
  while (true) {
    for (const auto& connection : open_) connection->hear_out();
    if (all_quiet()) co_return true;
    if (reactor_.clock().now() >= deadline) co_return false;
    co_await reactor_.sleep(drain_look);
  }
}

io::Op<> RdmaWorker::close() {
  gate_.close();
  for (const auto& connection : open_) connection->close();
  if (open_.empty()) sweep_timer_.cancel();  // else when the last one is gone: it sees to those that linger
  co_await gate_.drained();
  co_await turns_.close();
}

}  // namespace braid::rdma
