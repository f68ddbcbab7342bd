// Calls in the other direction: from the server to the peer of a connection that it accepted (RFC 8881
// 2.10.3.1, RFC 8167).
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "io/reactor.h"
#include "rpc/client.h"
#include "rpc/transport.h"

namespace braid::rpc {

class Session;

// Made by a session when a protocol asks for it. Belongs to the connection's thread, and strong references
// exist there only: others keep a BackChannelRef. What is sent counts as the session's memory until it has
// left.
class BackChannel final : private Connection {
 public:
  BackChannel(io::Reactor& reactor, io::SlabPool& pool, Session& session);
  ~BackChannel() override;
  BackChannel(const BackChannel&) = delete;
  BackChannel& operator=(const BackChannel&) = delete;

  // Calls end with `closed` once the connection has. Whoever calls keeps the channel until the call ends.
  [[nodiscard]] Client& client() { return client_; }

  // For the session. The connection has ended, and so has the session, soon.
  void end();
  // Returns when nothing of the channel is left in the reactor.
  static io::Op<> finish(std::shared_ptr<BackChannel> channel);
  void take_reply(io::Payload message, base::TimePoint arrived);

 private:
  [[nodiscard]] const PeerAddress& peer() const override { return peer_; }
  [[nodiscard]] std::size_t headroom() const override { return headroom_; }
  [[nodiscard]] io::PipePool* pipes() const override { return nullptr; }
  void send(xdr::Message message) override;
  void resume() override {}
  void close() override;

  Session* session_;  // null once it has ended
  const PeerAddress peer_;
  const std::size_t headroom_;
  Client client_;
};

// What other threads keep of a back channel. Its reactor outlives it.
class BackChannelRef {
 public:
  BackChannelRef() = default;
  BackChannelRef(io::Reactor& reactor, std::weak_ptr<BackChannel> channel)
      : reactor_(&reactor), channel_(std::move(channel)) {}
  // Any thread: whether the connection still exists, as far as one can know.
  [[nodiscard]] bool alive() const { return !channel_.expired(); }
  // Any thread: where lock() may be called.
  [[nodiscard]] io::Reactor& reactor() const { return *reactor_; }
  // On reactor()'s thread. Null: the connection has ended.
  [[nodiscard]] std::shared_ptr<BackChannel> lock() const { return channel_.lock(); }

 private:
  io::Reactor* reactor_ = nullptr;
  std::weak_ptr<BackChannel> channel_;
};

}  // namespace braid::rpc
