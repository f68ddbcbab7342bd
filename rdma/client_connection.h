// A connection of ours to an RDMA server.
//
// A call waits for a credit. Then memory for its reply is taken, what it needs is offered to the server
// (rdma/exposure.h), and it is sent. When its reply has come, the offer is withdrawn before anybody learns of
// the reply; the data lies where the server has put it. Calls that the server makes are dropped: there is no
// back channel.
//
// The end is that of a server's connection: disconnected, flushed, forgotten. What was offered is withdrawn
// as soon as it is disconnected, before calls end.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "rdma/exposure.h"
#include "rdma/header.h"
#include "rdma/offered.h"
#include "rdma/post_queue.h"
#include "rdma/receive_queue.h"
#include "rdma/send_queue.h"
#include "rdma/verbs.h"
#include "rpc/client.h"

namespace braid::rdma {

class RdmaConnector;

// Owned by its connector; belongs to the connector's thread.
class ClientConnection final : public rpc::Connection,
                               private EndpointUser,
                               private ReceiveUser,
                               private SendUser {
 public:
  ClientConnection(RdmaConnector& connector, const rpc::PeerAddress& peer);
  ~ClientConnection() override;
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  [[nodiscard]] const rpc::PeerAddress& peer() const override { return peer_; }
  [[nodiscard]] std::size_t headroom() const override { return 0; }
  [[nodiscard]] io::PipePool* pipes() const override { return nullptr; }
  void send(xdr::Message message) override { call(std::move(message), {}); }
  void call(xdr::Message message, const rpc::ReplyRoom& room) override;
  void give_up(std::uint32_t xid) override;
  void resume() override {}
  void close() override { disconnect(); }

 private:
  friend class RdmaConnector;

  // In this order.
  enum class State : std::uint8_t {
    starting,  // asked for, not yet established
    open,
    ending,  // disconnected; the device may still work on memory of ours
    ended,   // it does not
  };
  struct Waiting {
    std::uint32_t xid;
    xdr::Message message;
    rpc::ReplyRoom room;
  };
  // A call until its reply. One that was given up still holds its credit: the server may be at work on it.
  struct Running {
    OfferedChunks chunks;
    Exposure exposure;
    bool given_up = false;
  };
  struct Failed {
    std::uint32_t xid;
    rpc::CallError error;
  };

  // For the connector. Begins to connect; on failure there is nothing to end.
  base::Result<void> begin();
  // Nobody waits for it to be established any more. Attaches a client, or null if it was not.
  void hand_over(rpc::Client* client);
  void check_limits(base::TimePoint now);

  void on_resolved() override;
  void on_established(const ConnectParameters& peer) override;
  void on_disconnected() override;
  void on_received(io::SlabRange message) override;
  void on_receive_failed(WorkStatus status) override;
  void on_transmitted(const Transmission& transmission) override;
  void on_transmission_failed(WorkStatus status) override;

  base::Result<void> set_up();
  // Sends what may be sent.
  void run_calls();
  base::Result<void> start(const Waiting& waiting, Running& running, Chain& out);
  base::Result<void> offer(Running& running);
  void fail_later(std::uint32_t xid, rpc::CallError error);
  void take(io::Payload message);
  void take_reply(const Header& header, io::Payload message);
  void take_error(std::uint32_t xid);
  bool refill();

  void fail(const char* reason);
  void disconnect();
  void schedule();
  void run_later();
  void end_if_drained();

  RdmaConnector& connector_;
  const rpc::PeerAddress peer_;
  rpc::Receiver* receiver_ = nullptr;
  MemoryMap* map_ = nullptr;
  std::unique_ptr<Endpoint> endpoint_;
  State state_ = State::starting;
  bool awaited_ = true;  // somebody waits for it to be established
  bool told_disconnected_ = false;
  bool scheduled_ = false;
  const base::TimePoint begun_at_;
  base::TimePoint ending_at_;  // when it was disconnected

  PostQueue posts_;
  ReceiveQueue receives_;
  SendQueue sends_;
  OfferLimits limits_;
  std::uint32_t pieces_max_ = 1;
  std::uint32_t granted_ = 1;  // RFC 8166 section 3.3.3: one until a reply has said more

  std::deque<Waiting> waiting_;                                          // for a credit
  std::unordered_map<std::uint32_t, std::unique_ptr<Running>> running_;  // by xid
  std::vector<Failed> failed_;  // of which the receiver is to be told
};

}  // namespace braid::rdma
