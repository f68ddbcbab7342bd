// One RDMA connection of a client.
//
// A call arrives in a receive buffer, or says where it is to be read from. Its chunk lists are parsed once
// and kept until the reply; data of read chunks is fetched by RDMA Read into slabs and takes its place in the
// message without being copied. The reply's data goes to the write and reply chunks by RDMA Write, in one
// chain with the Send of the rest.
//
// Whatever goes wrong, the end is the same: the connection is disconnected, everything posted is flushed, and
// when the device holds nothing of ours any more the receiver is told and the connection is gone.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "rdma/chunks.h"
#include "rdma/header.h"
#include "rdma/placement.h"
#include "rdma/post_queue.h"
#include "rdma/read_queue.h"
#include "rdma/receive_queue.h"
#include "rdma/send_queue.h"
#include "rdma/verbs.h"
#include "rpc/address_turns.h"
#include "rpc/connection_limit.h"
#include "rpc/transport.h"

namespace braid::rdma {

class RdmaWorker;

// Owned by its worker; belongs to the worker's thread.
class RdmaConnection final : public rpc::Connection,
                             private EndpointUser,
                             private ReceiveUser,
                             private ReadQueueUser,
                             private SendUser {
 public:
  RdmaConnection(RdmaWorker& worker, const rpc::PeerAddress& peer, rpc::Acceptor& acceptor,
                 rpc::ConnectionLimit::Place place);
  ~RdmaConnection() override;
  RdmaConnection(const RdmaConnection&) = delete;
  RdmaConnection& operator=(const RdmaConnection&) = delete;

  // Takes the request and agrees to the connection. On failure the connection was not made and may be
  // destroyed.
  base::Result<void> accept(std::unique_ptr<ConnectRequest> request);

  [[nodiscard]] const rpc::PeerAddress& peer() const override { return peer_; }
  [[nodiscard]] rpc::Transport transport() const override { return rpc::Transport::rdma; }
  [[nodiscard]] std::size_t headroom() const override { return 0; }
  [[nodiscard]] io::PipePool* pipes() const override { return nullptr; }
  void send(xdr::Message message) override;
  void reply(rpc::CallTag call, xdr::Message message) override;
  void resume() override;
  void close() override;

 private:
  friend class RdmaWorker;

  // In this order.
  enum class State : std::uint8_t {
    starting,  // agreed to, not yet established
    open,
    ending,  // disconnected; the device may still work on memory of ours
    ended,   // it does not: only what has been scheduled is still to come
  };
  // A call from its arrival until its reply.
  struct CallState : ChunkReads {
    std::uint32_t xid = 0;
    std::uint32_t index = 0;  // in calls_
    base::TimePoint arrived;
    Chunks lists;
    io::Payload rest;  // the inline part of the message
  };
  // What is to be answered, as long as there is no memory for it.
  struct Answer {
    std::uint32_t xid = 0;
    std::uint32_t version = RPCRDMA_VERSION;
    std::optional<rpc_rdma_errcode> error;  // otherwise the reply to a call
    CallState* call = nullptr;
    xdr::Message message;
    base::TimePoint since;
  };
  struct Arrival {
    io::Payload message;
    base::TimePoint at;
  };

  void on_established(const ConnectParameters& peer) override;
  void on_silent_failure(WorkStatus status) override { on_transmission_failed(status); }
  void on_disconnected() override;
  void on_received(io::SlabRange message) override;
  void on_receive_failed(WorkStatus status) override;
  void on_chunks_read(ChunkReads& chunk_reads) override;
  void on_read_failed(WorkStatus status) override;
  void on_reads_starved() override;
  void on_transmitted(const Transmission& transmission) override;
  void on_transmission_failed(WorkStatus status) override;

  // Hands on what is here, as long as its address has its turn: calls whose data has come, then what has
  // arrived, if the receiver is ready.
  void process(base::TimePoint now);
  [[nodiscard]] bool may_take();
  void wait_for_turn();
  void take_turn();
  void take(Arrival arrival);
  void take_message(const Header& header, Arrival arrival);
  void take_call(const Header& header, Arrival arrival);
  void take_reply(const Header& header, Arrival arrival);
  void take_read_calls();
  void deliver(CallState& call);

  CallState& begin_call(std::uint32_t xid, base::TimePoint arrived);
  void end_call(CallState& call);
  void answer(Answer one);
  // Sends what was not sent for lack of memory.
  void run_answers();
  // Builds the chain of an answer. Fails with ENOBUFS for lack of memory, otherwise with the errno of a
  // registration.
  base::Result<void> build(const Answer& answer, Chain& out);
  base::Result<void> build_error(std::uint32_t xid, std::uint32_t version, rpc_rdma_errcode code, Chain& out);
  void count(const ReplyHeader& header);
  void send_error(std::uint32_t xid, std::uint32_t version, rpc_rdma_errcode code);
  // False if there is no memory for it now.
  bool send_plain(const xdr::Message& message);
  // One of them will get no other answer than it has.
  void end_back_call();
  void run_back_calls();
  [[nodiscard]] std::uint32_t grant();
  void note_granted(std::uint32_t credits);

  // Posts receives for which there was no memory.
  void refill();
  // Something has to wait for memory.
  void starve();
  // For the worker: there may be memory again.
  void retry();
  void fail(base::Counter& counter, const char* reason);
  void disconnect();
  // Runs run_later() soon, once.
  void schedule();
  void run_later();
  void end_if_drained();

  // For the worker.
  [[nodiscard]] bool quiet() const;
  // Makes sure that the peer has what was sent: what it has not yet acknowledged is not quiet.
  void hear_out();
  void check_limits(base::TimePoint now);
  void probe();

  RdmaWorker& worker_;
  const rpc::PeerAddress peer_;
  rpc::Acceptor& acceptor_;
  const rpc::ConnectionLimit::Place place_;
  rpc::Receiver* receiver_ = nullptr;  // from the time when it is established
  MemoryMap* map_ = nullptr;
  std::unique_ptr<Endpoint> endpoint_;
  State state_ = State::starting;
  bool told_disconnected_ = false;  // by the endpoint
  bool scheduled_ = false;
  bool waits_for_turn_ = false;  // process() goes on by itself
  rpc::AddressTurns::Turn turn_;
  std::size_t unsendable_bytes_ = 0;  // of messages that are dropped; the receiver is still to be told

  PostQueue posts_;
  ReceiveQueue receives_;
  ReadQueue read_queue_;
  SendQueue sends_;
  Placement placement_;
  std::uint32_t pieces_max_ = 1;
  std::size_t inline_out_;    // bytes of a message that the peer can receive
  bool invalidates_ = false;  // the peer understands Send With Invalidate
  bool readable_ = false;     // the peer answers RDMA Reads

  std::deque<Arrival> inbox_;
  std::deque<CallState*> read_calls_;  // their data is here, and they wait for the turn of their address
  std::vector<std::unique_ptr<CallState>> calls_;
  std::vector<CallState*> free_calls_;
  std::size_t running_calls_ = 0;
  std::deque<Answer> answers_;   // there was no memory for them
  std::size_t answers_out_ = 0;  // replies and errors, these too, that the peer has not acknowledged
  std::uint32_t granted_ = 0;    // by the last reply

  // Calls of ours to the peer.
  std::deque<xdr::Message> back_waiting_;
  std::uint32_t back_out_ = 0;
  std::uint32_t back_window_ = 1;  // RFC 8167 section 4.1: one until the peer has said more

  base::TimePoint active_at_;  // a call came, or a reply left
  base::TimePoint probed_at_;
  base::TimePoint ending_at_;  // when it was disconnected
};

}  // namespace braid::rdma
