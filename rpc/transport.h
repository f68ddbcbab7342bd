// The seam between RPC and the wire: TCP, RDMA, and an in-memory pair for tests.
//
// A transport makes a Connection per peer and hands its messages, one by one, to the connection's Receiver.
// Flow control is pull: before each message the transport asks ready(); after a "no" it reads nothing more
// from the peer until resume(). So memory is bounded by not reading, never by dropping.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/strong.h"
#include "io/op.h"
#include "io/payload.h"
#include "io/pipe.h"
#include "rpc/call.h"
#include "rpc/call_error.h"
#include "xdr/encoder.h"

namespace braid::rpc {

// Ties a reply to the message that it answers, where the transport needs to know: an RDMA call says where
// data of its reply goes. The transport gives it with the message.
using CallTag = base::Strong<struct CallTagTag, std::uint64_t>;

// What the reply to a call may bring at most, for transports on which the caller makes room for it (RFC 8166
// sections 3.4.6 and 3.5.3).
struct ReplyRoom {
  // Bytes of each DDP-eligible item, in the order of the results.
  std::array<std::uint32_t, xdr::Message::items_max> items{};
  std::size_t item_count = 0;
  std::uint32_t rest_bytes = 0;  // of the results without the bytes of these items
};

// By which a peer is connected.
enum class Transport : std::uint8_t { tcp, rdma };

// One connection that carries whole RPC messages in both directions. Belongs to one reactor's thread. Valid
// until its receiver's on_closed() returns.
class Connection {
 public:
  virtual ~Connection() = default;
  [[nodiscard]] virtual const PeerAddress& peer() const = 0;
  [[nodiscard]] virtual Transport transport() const { return Transport::tcp; }
  // Bytes that each message given to send() must leave free at its front.
  [[nodiscard]] virtual std::size_t headroom() const = 0;
  // Where messages may have bytes in pipes: the pipes to take; null where they may not.
  [[nodiscard]] virtual io::PipePool* pipes() const = 0;
  // Queues one message; the transport coalesces and sends. The bytes are immutable from now on. Messages sent
  // after close() are dropped.
  virtual void send(xdr::Message message) = 0;
  // The same for the reply to a message that came with this tag, once per tag.
  virtual void reply(CallTag call, xdr::Message message) {
    (void)call;
    send(std::move(message));
  }
  // The same for a call. What is sent by send() has no room but what every message has.
  virtual void call(xdr::Message message, const ReplyRoom& room) {
    (void)room;
    send(std::move(message));
  }
  // The reply to this call is of no interest any more: when this returns, the peer can no longer read or
  // write memory that was offered to it for the call.
  virtual void give_up(std::uint32_t xid) { (void)xid; }
  // The receiver is ready again after ready() was false. May be called when it was not.
  virtual void resume() = 0;
  // Ends the connection; the receiver is told through on_closed() later, from the event loop, once.
  virtual void close() = 0;
};

// Who takes the messages of a connection. Called on the connection's thread, never from inside Connection's
// members.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // Whether the next message may come. After false, resume() of the connection is called once it may.
  virtual bool ready(Connection& connection) = 0;
  // From now on the transport holds so many bytes of memory for a message that is not complete.
  virtual void holding(std::size_t bytes) { (void)bytes; }
  // Its peer has more than its share of memory: the transport ends it sooner if it stalls.
  [[nodiscard]] virtual bool over_share() const { return false; }
  // Of a message that begins with `head`: how many of the bytes that come next may stay in a pipe
  // (io/pipe.h), because nobody has to look at them.
  [[nodiscard]] virtual std::size_t bulk_after(const io::Payload& head) {
    (void)head;
    return 0;
  }
  // One whole message, in the order of arrival; `arrived` is when it (or the last part of it) was received.
  virtual void on_message(Connection& connection, io::Payload message, base::TimePoint arrived) = 0;
  // The same where the transport tells messages apart. A call gets its answer by Connection::reply(), or the
  // connection is closed.
  virtual void on_tagged_message(Connection& connection, io::Payload message, base::TimePoint arrived,
                                 CallTag call) {
    (void)call;
    on_message(connection, std::move(message), arrived);
  }
  // The same of a reply whose eligible items did not come in the message: see xdr::Decoder::set_apart().
  virtual void on_reduced_reply(Connection& connection, io::Payload message, std::vector<io::Payload>&& apart,
                                base::TimePoint arrived) {
    (void)apart;
    on_message(connection, std::move(message), arrived);
  }
  // No reply will come to this call, though the connection lives.
  virtual void on_call_failed(Connection& connection, std::uint32_t xid, CallError error) {
    (void)connection;
    (void)xid;
    (void)error;
  }
  // So many bytes of sent messages (headroom included) are with the system or the device now.
  virtual void on_sent(Connection& connection, std::size_t bytes) = 0;
  // True when no call of this connection is being worked on: what shutdown and idle limits wait for.
  [[nodiscard]] virtual bool idle() const = 0;
  // The connection ended, by the peer or by close(); it must not be used afterwards.
  virtual void on_closed(Connection& connection) = 0;
};

// Gives each new connection of a reactor its receiver.
class Acceptor {
 public:
  virtual ~Acceptor() = default;
  virtual Receiver& on_connected(Connection& connection) = 0;
  // Any thread: whether the server has anything for this peer.
  [[nodiscard]] virtual bool knows(const PeerAddress& peer) const = 0;
  // True while calls have to wait for memory that others hold: transports then end stalled connections
  // sooner.
  [[nodiscard]] virtual bool short_of_memory() const = 0;
};

}  // namespace braid::rpc
