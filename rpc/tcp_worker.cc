#include "rpc/tcp_worker.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "rpc/socket_address.h"
#include "rpc/tcp_connection.h"

namespace braid::rpc {
namespace {

constexpr std::size_t receive_room_min =
    16 * base::KiB;  // with less left, a receive buffer is not worth a call
constexpr auto drain_look = std::chrono::milliseconds(5);
// Connections of one address among which one is chosen that makes room.
constexpr std::size_t close_looks = 64;

void set(int fd, int level, int option, int value) { ::setsockopt(fd, level, option, &value, sizeof value); }

// None of these is vital: a refusal costs speed or the detection of dead peers only.
void set_up_socket(int fd, const TcpOptions& options) {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, options.keepalive_idle_s);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, options.keepalive_interval_s);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, options.keepalive_probes);
  if (options.send_buffer_bytes == 0) return;
  if (::setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &options.send_buffer_bytes, sizeof(int)) != 0)
    set(fd, SOL_SOCKET, SO_SNDBUF, options.send_buffer_bytes);
}

base::Counter& closed(base::MetricRegistry& registry, std::string_view labels) {
  return registry.counter("braid_tcp_closed_total", "Connections that the server closed", labels);
}

}  // namespace

TcpMetrics::TcpMetrics(base::MetricRegistry& registry)
    : accepted(registry.counter("braid_tcp_accepted_total", "Connections accepted")),
      closed_idle(closed(registry, R"(reason="idle")")),
      closed_stalled(closed(registry, R"(reason="stalled")")),
      closed_record(closed(registry, R"(reason="bad_record")")),
      closed_limit(closed(registry, R"(reason="connections_max")")),
      refused(registry.counter("braid_tcp_accept_failures_total",
                               "Connections that could not be accepted for lack of descriptors or memory")),
      memory_waits(registry.counter("braid_tcp_memory_waits_total",
                                    "Reads put off because the slab pool was exhausted")) {}

TcpWorker::TcpWorker(io::Reactor& reactor, io::SlabPool& pool, io::PipePool* pipes, const TcpOptions& options,
                     TcpMetrics& metrics)
    : reactor_(reactor),
      pool_(pool),
      pipes_(pipes),
      options_(options),
      metrics_(metrics),
      turns_(reactor),
      sweep_timer_(reactor) {}

TcpWorker::~TcpWorker() { base::check(open_.empty(), "a worker closes its connections before it ends"); }

base::Result<TcpWorker::ReceiveBuffer> TcpWorker::take_buffer(std::size_t bytes_min) {
  ReceiveBuffer buffer = std::exchange(buffer_, {});
  if (buffer.slab && io::small_slab_bytes - buffer.used >= std::max(bytes_min, receive_room_min))
    return buffer;
  buffer = {};
  auto slab = pool_.acquire(io::SlabSize::small);
  if (!slab) return base::fail(slab.error());
  return ReceiveBuffer{std::move(*slab), 0};
}

void TcpWorker::give_buffer(ReceiveBuffer buffer) {
  if (!buffer.slab || buffer.slab.get()->size != io::SlabSize::small) return;
  // Calls that still run may refer to the used part.
  buffer.used = buffer.slab.unique() ? 0 : (buffer.used + 7) & ~std::size_t{7};
  if (!buffer_.slab || buffer.used < buffer_.used) buffer_ = std::move(buffer);
}

Connection& TcpWorker::open(base::UniqueFd socket, Receiver& receiver) {
  made_.fetch_add(1, std::memory_order_relaxed);
  const PeerAddress peer = peer_of(socket.get()).value_or(PeerAddress{});
  return add(std::make_unique<TcpConnection>(*this, std::move(socket), peer, nullptr, nullptr), &receiver);
}

void TcpWorker::adopt(base::UniqueFd socket, const PeerAddress& peer, Acceptor& acceptor,
                      ConnectionLimit::Place place) {
  count_.fetch_add(1, std::memory_order_relaxed);
  reactor_.post(
      std::function<void()>([this, fd = socket.release(), peer, &acceptor, place = std::move(place)] {
        base::UniqueFd owned(fd);
        if (gate_.closed() || draining_) {
          count_.fetch_sub(1, std::memory_order_relaxed);
          return;
        }
        metrics_.accepted.add();
        if (std::ranges::find(acceptors_, &acceptor) == acceptors_.end()) acceptors_.push_back(&acceptor);
        add(std::make_unique<TcpConnection>(*this, std::move(owned), peer, &acceptor, place), nullptr);
      }));
}

TcpConnection& TcpWorker::add(std::unique_ptr<TcpConnection> connection, Receiver* receiver) {
  TcpConnection& added = *connection;
  set_up_socket(added.socket_.get(), options_);
  added.index_ = open_.size();
  open_.push_back(&added);
  if (added.acceptor_ != nullptr) {
    OfAddress& of_address = by_address_[peer_key(added.peer_)];
    turns_.enter(added.turn_, peer_key(added.peer_));
    added.index_of_address_ = of_address.open.size();
    of_address.open.push_back(&added);
    receiver = &added.acceptor_->on_connected(added);
  }
  io::spawn(gate_, serve(std::move(connection), *receiver));
  start_sweeping();
  return added;
}

io::Op<> TcpWorker::serve(std::unique_ptr<TcpConnection> connection, Receiver& receiver) {
  std::atomic<std::size_t>& counted = connection->acceptor_ != nullptr ? count_ : made_;
  co_await connection->run(receiver);
  counted.fetch_sub(1, std::memory_order_relaxed);
}

void TcpWorker::forget(TcpConnection& connection) {
  open_.back()->index_ = connection.index_;
  open_[connection.index_] = open_.back();
  open_.pop_back();
  turns_.leave(connection.turn_);
  if (connection.acceptor_ == nullptr) return;
  const auto found = by_address_.find(peer_key(connection.peer_));
  std::vector<TcpConnection*>& of_address = found->second.open;
  of_address.back()->index_of_address_ = connection.index_of_address_;
  of_address[connection.index_of_address_] = of_address.back();
  of_address.pop_back();
  if (of_address.empty()) by_address_.erase(found);
}

bool TcpWorker::close_one(const PeerKey& of, bool busy_too) {
  const auto found = by_address_.find(of);
  if (found == by_address_.end()) return false;
  OfAddress& peers = found->second;
  TcpConnection *idle = nullptr, *silent = nullptr;
  for (std::size_t looks = std::min(peers.open.size(), close_looks); looks > 0; --looks) {
    TcpConnection* const one = peers.open[peers.next++ % peers.open.size()];
    if (one->closing_) continue;
    if (silent == nullptr || one->received_at_ < silent->received_at_) silent = one;
    if (one->quiet() && (idle == nullptr || one->received_at_ < idle->received_at_)) idle = one;
  }
  TcpConnection* const chosen = idle != nullptr || !busy_too ? idle : silent;
  if (chosen == nullptr) return false;
  metrics_.closed_limit.add();
  chosen->close();
  return true;
}

void TcpWorker::start_sweeping() {
  if (sweeping_) return;
  sweeping_ = true;
  io::spawn(gate_, sweep());
}

io::Op<> TcpWorker::sweep() {
  while (!open_.empty() && !gate_.closed()) {
    // The wait stands outside of the condition: g++ 12 drops the body of a coroutine with `if (co_await
    // temporary)`.
    const bool due = co_await sweep_timer_.until(reactor_.clock().now() + options_.sweep_interval);
    if (!due) break;
    check_limits();
  }
  sweeping_ = false;
}

void TcpWorker::check_limits() {
  const base::TimePoint now = reactor_.clock().now();
  const std::uint64_t exhausted = pool_.stats().exhausted;
  const bool pool_short = std::exchange(exhausted_seen_, exhausted) != exhausted;
  const auto short_of_memory = [](const Acceptor* acceptor) { return acceptor->short_of_memory(); };
  const bool any_short = pool_short || std::ranges::any_of(acceptors_, short_of_memory);
  for (TcpConnection* connection : open_) {
    const bool memory_short = any_short && (pool_short || connection->acceptor_ == nullptr ||
                                            short_of_memory(connection->acceptor_));
    const base::Duration stall_limit =
        memory_short || connection->over_share() ? options_.stall_limit_short : options_.stall_limit;
    if (base::Counter* counter = connection->overdue(now, stall_limit))
      connection->close_for(*counter, counter == &metrics_.closed_idle ? "idle" : "stalled");
  }
}

bool TcpWorker::all_quiet() const {
  return std::ranges::all_of(open_, [](const TcpConnection* connection) { return connection->quiet(); });
}

bool TcpWorker::all_hung_up() const {
  bool ended = true;
  for (TcpConnection* connection : open_) ended = connection->hang_up() && ended;
  return ended;
}

io::Op<bool> TcpWorker::drain(base::Duration limit) {
  draining_ = true;
  const base::TimePoint deadline = reactor_.clock().now() + limit;
  while (!all_quiet()) {
    if (reactor_.clock().now() >= deadline) co_return false;
    co_await reactor_.sleep(drain_look);
  }
  if (!open_.empty())
    co_await reactor_.sleep(std::min(options_.drain_linger, deadline - reactor_.clock().now()));
  while (!all_hung_up()) {
    if (reactor_.clock().now() >= deadline) co_return false;
    co_await reactor_.sleep(drain_look);
  }
  co_return true;
}

io::Op<> TcpWorker::close() {
  gate_.close();
  for (TcpConnection* connection : open_) connection->close();
  sweep_timer_.cancel();
  co_await gate_.drained();
  co_await turns_.close();
  buffer_ = {};
}

}  // namespace braid::rpc
