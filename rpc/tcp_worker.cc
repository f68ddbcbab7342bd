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
  count_.fetch_add(1, std::memory_order_relaxed);
  return add(std::move(socket), nullptr, &receiver);
}

void TcpWorker::adopt(base::UniqueFd socket, Acceptor& acceptor) {
  count_.fetch_add(1, std::memory_order_relaxed);
  reactor_.post(std::function<void()>([this, fd = socket.release(), &acceptor] {
    base::UniqueFd owned(fd);
    if (gate_.closed() || draining_) {
      count_.fetch_sub(1, std::memory_order_relaxed);
      return;
    }
    metrics_.accepted.add();
    if (std::ranges::find(acceptors_, &acceptor) == acceptors_.end()) acceptors_.push_back(&acceptor);
    add(std::move(owned), &acceptor, nullptr);
  }));
}

TcpConnection& TcpWorker::add(base::UniqueFd socket, Acceptor* acceptor, Receiver* receiver) {
  set_up_socket(socket.get(), options_);
  const PeerAddress peer = peer_of(socket.get()).value_or(PeerAddress{});
  auto connection = std::make_unique<TcpConnection>(*this, std::move(socket), peer, acceptor);
  TcpConnection& added = *connection;
  added.index_ = open_.size();
  open_.push_back(&added);
  if (acceptor != nullptr) receiver = &acceptor->on_connected(added);
  io::spawn(gate_, serve(std::move(connection), *receiver));
  start_sweeping();
  return added;
}

io::Op<> TcpWorker::serve(std::unique_ptr<TcpConnection> connection, Receiver& receiver) {
  co_await connection->run(receiver);
  count_.fetch_sub(1, std::memory_order_relaxed);
}

void TcpWorker::forget(TcpConnection& connection) {
  open_.back()->index_ = connection.index_;
  open_[connection.index_] = open_.back();
  open_.pop_back();
}

void TcpWorker::evict_idle() {
  reactor_.post(std::function<void()>([this] {
    TcpConnection* oldest = nullptr;
    for (TcpConnection* connection : open_) {
      if (connection->acceptor_ == nullptr || connection->closing_ || !connection->quiet()) continue;
      if (oldest == nullptr || connection->received_at_ < oldest->received_at_) oldest = connection;
    }
    if (oldest != nullptr) oldest->close_for(metrics_.closed_limit, "connections_max");
  }));
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
  buffer_ = {};
}

}  // namespace braid::rpc
