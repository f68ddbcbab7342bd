// The connections that servers make themselves (pnfs::ControlPeer): over the networks of the simulation.
// rpc::tcp_connect() and rpc::TcpWorker::open() lead here, by the linker's --wrap.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>

#include "base/unique_fd.h"
#include "io/op.h"
#include "rpc/call.h"
#include "rpc/tcp_worker.h"
#include "rpc/transport.h"
#include "tests/sim/machine.h"
#include "tests/sim/network.h"

namespace braid::sim::cluster {

// Of the calling thread, like its Machine.
class Switchboard {
 public:
  explicit Switchboard(Machine& machine, const Random& random);
  ~Switchboard();
  Switchboard(const Switchboard&) = delete;
  Switchboard& operator=(const Switchboard&) = delete;
  static Switchboard* current();

  // Who connects to this address is `caller` on that network.
  void route(const rpc::PeerAddress& address, Network& network, std::uint32_t caller);
  // Of a process that starts.
  void add(const rpc::TcpWorker& worker) { dead_.erase(&worker); }
  // The process is dead: its connections end, and it makes no others.
  void hang_up(const rpc::TcpWorker& worker);
  // No connection is left.
  [[nodiscard]] bool quiet() const { return lines_.empty(); }

  // What the two functions do.
  io::Op<base::UniqueFd> connect(rpc::PeerAddress to);
  rpc::Connection& open(const rpc::TcpWorker& worker, int fd, rpc::Receiver& receiver);

 private:
  class Line;
  struct Route {
    Network* network = nullptr;
    std::uint32_t caller = 0;
  };
  void forget(Line& line);

  Machine& machine_;
  Random random_;
  std::map<std::string, Route> routes_;  // by the address's text
  std::map<int, Route> connected_;       // by descriptor, until open()
  std::list<std::unique_ptr<Line>> lines_;
  std::set<const rpc::TcpWorker*> dead_;
};

}  // namespace braid::sim::cluster
