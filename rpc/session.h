// The server's end of one connection: admission, and what its calls have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "rpc/back_channel.h"
#include "rpc/server.h"
#include "rpc/transport.h"

namespace braid::rpc {

// Owned by itself: ends when the connection has closed and its last call has ended. Belongs to its worker's
// thread.
class Session final : public Receiver, private PeerAccount::Waiter {
 public:
  Session(ServerWorker& worker, Connection& connection);
  ~Session() override;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  bool ready(Connection& connection) override;
  void holding(std::size_t bytes) override;
  [[nodiscard]] bool over_share() const override;
  [[nodiscard]] std::size_t bulk_after(const io::Payload& head) override;
  void on_message(Connection& connection, io::Payload message, base::TimePoint arrived) override;
  void on_tagged_message(Connection& connection, io::Payload message, base::TimePoint arrived,
                         CallTag call) override;
  void on_sent(Connection& connection, std::size_t bytes) override;
  [[nodiscard]] bool idle() const override { return running_ == 0; }
  void on_closed(Connection& connection) override;

  [[nodiscard]] ServerWorker& worker() const { return worker_; }
  [[nodiscard]] const PeerAddress& peer() const { return peer_; }
  // For whom its calls work.
  [[nodiscard]] io::PeerId peer_id() const { return peer_id_; }
  // For what a peer is told of other servers. Who answers calls needs not know.
  [[nodiscard]] Transport transport() const { return transport_; }
  [[nodiscard]] std::size_t headroom() const { return headroom_; }
  [[nodiscard]] io::PipePool* pipes() const { return pipes_; }
  [[nodiscard]] UsageLedger& usage() const { return *usage_; }

  // For protocols that bind state to connections. No two connections of a server have the same number.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  // The way to call the peer over this connection, made when first asked for. On the session's thread.
  [[nodiscard]] BackChannelRef back_channel();

  // For RunningCall. A call exists from call_began() to call_ended(), after which the session may be gone.
  void call_began() { ++running_; }
  void reserve(std::size_t bytes) { take(bytes); }
  void release(std::size_t bytes) { give(bytes); }
  // Sends a message, or drops it when the connection is gone; its bytes count until they have left.
  void send(xdr::Message message);
  void reply(CallTag call, xdr::Message message);
  void close_connection();
  void call_ended();
  // A message that is a reply. False if nobody calls the peer.
  bool take_reply(io::Payload message, base::TimePoint arrived);

 private:
  friend class ServerWorker;
  void take(std::size_t bytes);
  void give(std::size_t bytes);
  // In its peer's account.
  void note(std::int64_t bytes);
  void publish();
  // False: it is told when to look again.
  bool within_share();
  void look_again() override;
  void look_again_here();
  // Counts a message that is about to be sent.
  void take_unsent(std::size_t bytes);

  ServerWorker& worker_;
  Connection* connection_;  // null once it has closed
  const PeerAddress peer_;
  const io::PeerId peer_id_;
  const Transport transport_;
  const std::size_t headroom_;
  io::PipePool* const pipes_;
  const std::uint64_t number_;
  const bool known_;
  const std::shared_ptr<PeerAccount> account_;
  const std::shared_ptr<UsageLedger> usage_;
  std::int64_t unpublished_ = 0;       // of held_, what account_ does not say yet
  std::shared_ptr<BackChannel> back_;  // null until asked for
  std::size_t running_ = 0;            // calls
  std::size_t held_ = 0;       // bytes of the budgets: reserved by calls, of replies not yet sent, and below
  std::size_t unsent_ = 0;     // the latter
  std::size_t receiving_ = 0;  // of held_: for a message that is not complete
  bool choked_ = false;        // said "not ready" because of its own budget
  bool blocked_ = false;       // is in the worker's list, because of the common budget
  bool over_ = false;          // is in the account's list, or was until it was told to look again
};

}  // namespace braid::rpc
