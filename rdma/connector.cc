#include "rdma/connector.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/assert.h"
#include "rdma/client_connection.h"

namespace braid::rdma {
namespace {

constexpr auto refill_retry = std::chrono::milliseconds(10);

}  // namespace

RdmaConnector::RdmaConnector(io::Reactor& reactor, io::SlabPool& pool, Verbs& verbs, MemoryMaps& maps,
                             const RdmaClientOptions& options)
    : reactor_(reactor),
      pool_(pool),
      verbs_(verbs),
      maps_(maps),
      options_(options),
      cursor_(pool),
      sweep_timer_(reactor) {}

RdmaConnector::~RdmaConnector() {
  base::check(open_.empty(), "a connector closes its connections before it ends");
}

io::Op<> RdmaConnector::connect(rpc::PeerAddress to, rpc::Client& client) {
  struct Settled {
    RdmaConnector& connector;
    ClientConnection* connection;
    [[nodiscard]] bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> handle) { connector.asked_.push_back({connection, handle}); }
    void await_resume() const {}
  };
  if (gate_.closed()) co_await base::fail(ECANCELED);
  auto& connection = *open_.emplace_back(std::make_unique<ClientConnection>(*this, to));
  holds_.emplace_back(gate_);
  if (auto begun = connection.begin(); !begun) {
    forget(connection);
    co_await base::fail(begun.error());
  }
  start_sweeping();
  co_await Settled{*this, &connection};
  const bool open = connection.state_ == ClientConnection::State::open;
  connection.hand_over(open ? &client : nullptr);
  if (!open) co_await base::fail(ECONNREFUSED);
}

void RdmaConnector::wake(ClientConnection& connection) {
  const auto found = std::ranges::find(asked_, &connection, &Asked::connection);
  if (found == asked_.end()) return;
  reactor_.ready_queue().push(io::ReadyItem::of(found->waiter));
  asked_.erase(found);
}

void RdmaConnector::forget(ClientConnection& connection) {
  const auto found = std::ranges::find(open_, &connection, &std::unique_ptr<ClientConnection>::get);
  std::swap(*found, open_.back());
  open_.pop_back();
  holds_.pop_back();
  if (gate_.closed() && open_.empty()) sweep_timer_.cancel();
}

void RdmaConnector::retry_later() {
  if (std::exchange(retrying_, true)) return;
  io::spawn(gate_, retry());
}

io::Op<> RdmaConnector::retry() {
  co_await reactor_.sleep(refill_retry);
  retrying_ = false;
  for (const auto& connection : open_) {
    if (connection->state_ >= ClientConnection::State::ending) continue;
    connection->refill();
    connection->run_calls();
  }
}

void RdmaConnector::start_sweeping() {
  if (std::exchange(sweeping_, true)) return;
  io::spawn(gate_, sweep());
}

io::Op<> RdmaConnector::sweep() {
  while (!open_.empty()) {
    // The wait stands outside of the condition: g++ 12 drops the body of a coroutine with `if (co_await
    // temporary)`.
    const bool due = co_await sweep_timer_.until(reactor_.clock().now() + options_.sweep_interval);
    if (!due) break;
    check_limits();
  }
  sweeping_ = false;
}

void RdmaConnector::check_limits() {
  const base::TimePoint now = reactor_.clock().now();
  for (const auto& connection : open_) connection->check_limits(now);
}

io::Op<> RdmaConnector::close() {
  gate_.close();
  for (const auto& connection : open_) connection->close();
  if (open_.empty()) sweep_timer_.cancel();  // else when the last one is gone: it sees to those that linger
  co_await gate_.drained();
}

}  // namespace braid::rdma
