#include "tests/sim/cluster/switchboard.h"

#include <chrono>
#include <utility>

#include "base/assert.h"
#include "rpc/tcp_connect.h"
#include "tests/sim/message.h"

namespace braid::sim::cluster {
namespace {

thread_local Switchboard* current_switchboard = nullptr;

constexpr base::Duration connect_max = std::chrono::milliseconds(20);
// As tcp_connect() with one repetition of the request.
constexpr base::Duration connect_patience = std::chrono::seconds(3);

}  // namespace

// The end of a connection on the side that made it.
class Switchboard::Line final : public rpc::Connection, private WireUser {
 public:
  Line(Switchboard& board, const Route& to, const rpc::TcpWorker& worker, rpc::Receiver& receiver)
      : board_(board), worker_(&worker), receiver_(&receiver), wire_(to.network->connect(to.caller, *this)) {}

  [[nodiscard]] const rpc::TcpWorker* worker() const { return worker_; }
  [[nodiscard]] const rpc::PeerAddress& peer() const override { return peer_; }
  [[nodiscard]] std::size_t headroom() const override { return 0; }
  [[nodiscard]] io::PipePool* pipes() const override { return nullptr; }
  void send(xdr::Message message) override {
    if (wire_) wire_->send_to_server(bytes_of(message.bytes));
  }
  void resume() override {}
  void close() override {
    if (!wire_) return;
    std::exchange(wire_, nullptr)->hang_up();
    board_.machine_.scheduler.after(base::Duration(0), [this] { end(); });
  }

 private:
  void on_message(const WireRef& /*wire*/, base::Bytes message) override {
    if (wire_) receiver_->on_message(*this, payload_of(message), board_.machine_.scheduler.now());
  }
  void on_closed(const WireRef& /*wire*/) override {
    if (!std::exchange(wire_, nullptr)) return;
    end();
  }
  void end() {
    receiver_->on_closed(*this);
    board_.forget(*this);
  }

  Switchboard& board_;
  const rpc::TcpWorker* const worker_;
  rpc::Receiver* const receiver_;
  const rpc::PeerAddress peer_{};
  WireRef wire_;
};

Switchboard::Switchboard(Machine& machine, const Random& random) : machine_(machine), random_(random) {
  base::check(current_switchboard == nullptr, "one switchboard per thread");
  current_switchboard = this;
}

Switchboard::~Switchboard() { current_switchboard = nullptr; }

Switchboard* Switchboard::current() { return current_switchboard; }

void Switchboard::route(const rpc::PeerAddress& address, Network& network, std::uint32_t caller) {
  routes_[address.text()] = {&network, caller};
}

void Switchboard::hang_up(const rpc::TcpWorker& worker) {
  dead_.insert(&worker);
  for (const std::unique_ptr<Line>& line : lines_)
    if (line->worker() == &worker) line->close();
}

void Switchboard::forget(Line& line) {
  lines_.remove_if([&](const std::unique_ptr<Line>& one) { return one.get() == &line; });
}

io::Op<base::UniqueFd> Switchboard::connect(rpc::PeerAddress to) {
  const auto found = routes_.find(to.text());
  if (found == routes_.end()) co_return base::fail(EHOSTUNREACH);
  const Route route = found->second;
  co_await machine_.scheduler.sleep(random_.between(base::Duration(1), connect_max));
  if (route.network->cut_until(route.caller) > machine_.scheduler.now()) {
    co_await machine_.scheduler.sleep(connect_patience);
    co_return base::fail(ETIMEDOUT);
  }
  if (route.network->server() == nullptr) co_return base::fail(ECONNREFUSED);
  const int fd = machine_.open(machine_.disk(), nullptr);
  connected_[fd] = route;
  co_return base::UniqueFd(fd);
}

rpc::Connection& Switchboard::open(const rpc::TcpWorker& worker, int fd, rpc::Receiver& receiver) {
  const Route route = connected_.at(fd);
  connected_.erase(fd);
  lines_.push_back(std::make_unique<Line>(*this, route, worker, receiver));
  Line& line = *lines_.back();
  if (dead_.contains(&worker)) line.close();
  return line;
}

}  // namespace braid::sim::cluster

namespace braid::rpc {

// The linker's names of the two functions, with --wrap.
io::Op<base::UniqueFd> simulated_connect(io::Reactor& reactor, PeerAddress address,
                                         TcpConnectOptions options) __asm__("__wrap_" BRAID_TCP_CONNECT);
Connection& simulated_open(TcpWorker& worker, base::UniqueFd socket,
                           Receiver& receiver) __asm__("__wrap_" BRAID_TCP_OPEN);

io::Op<base::UniqueFd> simulated_connect(io::Reactor& /*reactor*/, PeerAddress address,
                                         TcpConnectOptions /*options*/) {
  return sim::cluster::Switchboard::current()->connect(address);
}

Connection& simulated_open(TcpWorker& worker, base::UniqueFd socket, Receiver& receiver) {
  return sim::cluster::Switchboard::current()->open(worker, socket.get(), receiver);
}

}  // namespace braid::rpc
