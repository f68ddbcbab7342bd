// Connections to a server that carry whole RPC messages, late, and sometimes break. Whoever connects has a
// number: a model client, or another server.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "io/slab.h"
#include "rpc/transport.h"
#include "tests/sim/host.h"
#include "tests/sim/machine.h"

namespace braid::sim {

class Network;
class Wire;
using WireRef = std::shared_ptr<Wire>;

// Who called connect(). Told through the scheduler, never from inside a call.
class WireUser {
 public:
  virtual ~WireUser() = default;
  virtual void on_message(const WireRef& wire, base::Bytes message) = 0;
  // Broken, or never came up; nothing follows.
  virtual void on_closed(const WireRef& wire) = 0;
};

// One connection. Messages of one direction stay in order; when it breaks, what is under way may still
// arrive.
class Wire final : public rpc::Connection, public std::enable_shared_from_this<Wire> {
 public:
  Wire(Network& network, std::uint32_t client, std::uint64_t number, WireUser& user, const Random& random);

  // Of the server that it leads to; 0 before it is up.
  [[nodiscard]] std::uint32_t life() const { return life_; }
  void send_to_server(base::Bytes message);
  // By the client, which hears nothing more of it.
  void hang_up();

  [[nodiscard]] const rpc::PeerAddress& peer() const override { return peer_; }
  [[nodiscard]] std::size_t headroom() const override { return 0; }
  [[nodiscard]] io::PipePool* pipes() const override { return nullptr; }
  void send(xdr::Message message) override;
  void resume() override;
  void close() override { break_down(); }

 private:
  friend class Network;
  // One direction.
  struct Lane {
    base::TimePoint last{};  // when the message sent last will arrive
    bool open = true;        // whether what is under way arrives
  };

  void come_up();
  void break_down();
  void deliver_up(const base::Bytes& message);
  void take_up(const base::Bytes& message);
  void pump();
  void end_server_side();
  void end_client_side();
  [[nodiscard]] base::TimePoint arrival(Lane& lane);

  Network& network_;
  const std::uint32_t client_;
  WireUser* user_;  // null once it has hung up or been told
  rpc::PeerAddress peer_;
  Random random_;
  std::uint32_t life_ = 0;
  rpc::Receiver* receiver_ = nullptr;  // the server's; null before it is up and after it has been told
  std::deque<base::Bytes> inbox_;      // of the server
  Lane up_;
  Lane down_;
  bool broken_ = false;
  base::Duration straggle_{};
};

struct NetworkOptions {
  base::Duration latency_max = std::chrono::milliseconds(20);
  std::uint64_t duplicate_percent = 2;  // of calls
  // Until an end learns that a connection is broken.
  base::Duration notice_max = std::chrono::seconds(2);
  // By how much later what is under way on a connection that broke may arrive; 0: it is not late.
  base::Duration straggle_max = base::Duration(0);
};

// Of one server.
class Network {
 public:
  Network(Machine& machine, io::SlabPool& slabs, const NetworkOptions& options, const Random& random)
      : machine_(machine), slabs_(slabs), options_(options), random_(random) {}

  // Whether it comes up is told by the first message or by on_closed().
  WireRef connect(std::uint32_t client, WireUser& user);
  // Null: it is down; connections to the one before break.
  void set_server(Host* server);
  [[nodiscard]] Host* server() const { return server_; }
  // Nothing gets through between this client and the server until then.
  void cut_off(std::uint32_t client, base::TimePoint until) { cut_[client] = until; }
  [[nodiscard]] base::TimePoint cut_until(std::uint32_t client) const {
    const auto found = cut_.find(client);
    return found == cut_.end() ? base::TimePoint{} : found->second;
  }
  // One of the connections breaks, if there are any.
  void break_one(Random& random);
  // All of this client's.
  void break_those_of(std::uint32_t client);
  // When a message of this client last reached a server.
  [[nodiscard]] base::TimePoint last_heard(std::uint32_t client) const {
    const auto found = heard_.find(client);
    return found == heard_.end() ? base::TimePoint{} : found->second;
  }
  // Connections that some end has not been told of their end.
  [[nodiscard]] bool quiet();

 private:
  friend class Wire;
  Machine& machine_;
  io::SlabPool& slabs_;
  const NetworkOptions options_;
  Random random_;
  Host* server_ = nullptr;
  std::vector<WireRef> wires_;
  std::uint64_t made_ = 0;
  std::map<std::uint32_t, base::TimePoint> cut_;
  std::map<std::uint32_t, base::TimePoint> heard_;
};

}  // namespace braid::sim
