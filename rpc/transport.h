// The seam between RPC and the wire: TCP, RDMA, and an in-memory pair for tests.
#pragma once

#include <cstddef>
#include <memory>

#include "io/op.h"
#include "io/payload.h"
#include "rpc/call.h"
#include "xdr/encoder.h"

namespace braid::rpc {

// One connection that carries whole RPC messages in both directions. Belongs to one reactor's thread.
class Connection {
 public:
  virtual ~Connection() = default;
  [[nodiscard]] virtual const PeerAddress& peer() const = 0;
  // Bytes that each message given to send() must leave free at its front.
  [[nodiscard]] virtual std::size_t headroom() const = 0;
  // Queues one message; the transport coalesces and sends. The bytes are immutable from now on. Messages sent after
  // the connection ended are dropped.
  virtual void send(xdr::Message message) = 0;
  // Ends the connection; the receiver is told through on_closed() later, from the event loop.
  virtual void close() = 0;
};

// Who takes the messages of a connection.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // One whole message, in the order of arrival.
  virtual void on_message(Connection& connection, io::Payload message) = 0;
  virtual void on_closed(Connection& connection) = 0;
};

}  // namespace braid::rpc
