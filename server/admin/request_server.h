// A small server for people and scrapers: a connection carries one bounded request and its answer. It runs
// beside the NFS service, on the control thread, so that a slow reader of metrics costs no client anything.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "io/gate.h"
#include "io/op.h"
#include "io/reactor.h"

namespace braid::server::admin {

// What is spoken on the connections.
struct Dialogue {
  // Whether `so_far` holds a whole request.
  bool (*complete)(std::string_view so_far) = nullptr;
  // Called once, with the whole request, or with what came before the limit or the end of the stream; an
  // empty answer, or none, closes the connection. The request outlives the Op.
  std::function<io::Op<std::string>(std::string_view request)> answer;
};

struct RequestServerOptions {
  std::string_view name;  // in the log
  std::size_t request_bytes_max = 8192;
  // Further ones are closed at once; or, where peers are told apart, the oldest one of the peer with the
  // most.
  unsigned connections_max = 8;
  // Who is at the other end of this socket, in a word. Null: all are one.
  std::string (*peer)(int socket) = nullptr;
  base::Duration time_limit = std::chrono::seconds(10);  // from accept to close
};

// Belongs to the reactor's thread. start() once, stop() before it is destroyed.
class RequestServer {
 public:
  // `listener` is a listening, non-blocking stream socket.
  RequestServer(io::Reactor& reactor, base::UniqueFd listener, RequestServerOptions options,
                Dialogue dialogue);
  void start();
  // Takes no more connections and ends those that there are.
  io::Op<> stop();

 private:
  io::Op<> accept_all();
  void admit(base::UniqueFd socket);
  // False: there is none, since peers are not told apart.
  bool make_room(const std::string& newcomer);
  io::Op<> serve(base::UniqueFd socket, std::string peer);
  struct Connection;
  io::Op<> expire(Connection& connection);
  io::Op<> converse(const Connection& connection);
  io::Op<> wait_for(const Connection& connection, short events);
  void end(Connection& connection);

  io::Reactor& reactor_;
  base::UniqueFd listener_;
  const RequestServerOptions options_;
  const Dialogue dialogue_;
  io::Gate gate_;
  std::list<Connection*> connections_;  // the oldest first; no more than may be, but for those that end
};

}  // namespace braid::server::admin
