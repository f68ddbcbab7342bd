// One TCP connection carrying RPC records.
//
// Reading. While the peer is silent no receive buffer is held. When bytes come, they are received into a
// small slab that the worker's connections use in turn, and every whole record in it is handed on in place.
// Of a record that is longer the rest is received straight into a slab of its own, a large one where it is
// worth it; data that nobody has to look at goes into a pipe. Bytes are copied only when a peer pauses within
// the first half KiB of a record.
//
// Writing. Replies queue up while the records of one receive are worked on and leave in one system call, or
// earlier when there is much, so that bulk data is sent while the CPU still has it in its cache.
#pragma once

#include <coroutine>
#include <optional>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "io/gate.h"
#include "io/op.h"
#include "rpc/bulk_receiver.h"
#include "rpc/record_reader.h"
#include "rpc/send_queue.h"
#include "rpc/tcp_worker.h"
#include "rpc/transport.h"

namespace braid::rpc {

// Owned by its worker; belongs to the worker's thread.
class TcpConnection final : public Connection {
 public:
  // `acceptor`: whose client the peer is, which may not idle for ever; null: the connection is one of ours to
  // a server. `place`: among those of clients.
  TcpConnection(TcpWorker& worker, base::UniqueFd socket, const PeerAddress& peer, Acceptor* acceptor,
                ConnectionLimit::Place place);
  ~TcpConnection() override;
  TcpConnection(const TcpConnection&) = delete;
  TcpConnection& operator=(const TcpConnection&) = delete;

  [[nodiscard]] const PeerAddress& peer() const override { return peer_; }
  [[nodiscard]] std::size_t headroom() const override { return 4; }
  [[nodiscard]] io::PipePool* pipes() const override { return worker_.pipes_; }
  void send(xdr::Message message) override;
  void resume() override;
  void close() override;

 private:
  friend class TcpWorker;

  // What reading comes to a halt with.
  enum class Halt : std::uint8_t {
    drained,    // nothing more to read now
    turn_over,  // others have to get their turn
    not_yet,    // its address has had its turn
    paused,     // the receiver does not want more now
    no_memory,  // the slab pool is exhausted
    ended,      // by the peer, by close(), or by an error
  };

  // From set-up until the connection has ended and its receiver knows.
  io::Op<> run(Receiver& receiver);
  // For what reading waits for, other than bytes from the peer.
  io::Op<> wait(Halt halt);
  Halt receive();
  Halt receive_batch(base::TimePoint now);
  Halt receive_once(base::TimePoint now);
  Halt receive_bulk(base::TimePoint now);
  void expect_bulk();
  std::optional<Halt> deliver(base::TimePoint now);
  base::Result<base::MutableBytes> make_room();
  base::Result<void> take_slab(std::size_t fragment_remaining);
  void settle(base::TimePoint now);
  [[nodiscard]] std::size_t receiving_bytes() const;
  void tune_receiving();

  // Whether others are to have their turn.
  [[nodiscard]] bool turn_over(base::TimePoint began) const;

  void flush();
  void flush_later();
  void send_queued();
  base::Result<std::size_t> send_front();
  io::Op<> write_loop();

  // Whether a limit has been passed, and which one counts it.
  [[nodiscard]] base::Counter* overdue(base::TimePoint now, base::Duration stall_limit) const;
  [[nodiscard]] bool over_share() const { return receiver_ != nullptr && receiver_->over_share(); }
  [[nodiscard]] bool quiet() const { return receiver_->idle() && output_.empty(); }
  // Once quiet: tells the peer that nothing follows, and drops what it still sends. True when the peer's TCP
  // has taken everything; to be called again until then.
  bool hang_up();
  void close_for(base::Counter& counter, const char* reason);

  TcpWorker& worker_;
  base::UniqueFd socket_;
  const PeerAddress peer_;
  Receiver* receiver_ = nullptr;  // from run() on
  std::size_t index_ = 0;         // in the worker's list
  std::size_t index_of_address_ = 0;
  AddressTurns::Turn turn_;  // of a client's, once it has been added
  Acceptor* const acceptor_;
  const ConnectionLimit::Place place_;
  bool closing_ = false;
  bool in_batch_ = false;         // receive() will flush
  std::size_t turn_bytes_ = 0;    // of replies, since receive() began
  std::size_t turn_records_ = 0;  // the same of records
  bool writing_ = false;          // write_loop() waits for the socket to take more
  bool resumed_ = false;          // since the receiver last said that it is not ready
  int low_water_ = 1;             // SO_RCVLOWAT of the socket

  RecordReader reader_;
  BulkReceiver bulk_;
  bool bulk_asked_ = false;                      // whether the incomplete record has bulk data
  bool after_bulk_ = false;                      // the last record was so long that it may have had some
  TcpWorker::ReceiveBuffer buffer_;              // without slab while nothing is being received
  io::SlabRange input_;                          // received into it and not yet read
  std::coroutine_handle<> paused_;               // run(), while it waits for resume()
  std::optional<base::TimePoint> record_since_;  // an incomplete record has been waited for since then
  base::TimePoint received_at_;                  // the last bytes

  SendQueue output_;
  base::TimePoint sent_at_{};  // the last bytes, while writing_
  io::Gate gate_;
  std::optional<io::Gate::Hold> flush_hold_;  // flush() will be called at the end of the turn
};

}  // namespace braid::rpc
