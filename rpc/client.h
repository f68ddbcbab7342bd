// The calling side of ONC RPC (RFC 5531): many calls at once over one connection, matched by xid.
//
//   Client client(reactor, pool);
//   client.attach(tcp.open(co_await tcp_connect(reactor, address), client));
//   Results r = co_await client.call({program, version, procedure}, {.auth = AuthNone{}},
//                                    [&](xdr::Encoder& out) { encode(out, args); });
//   xdr::Decoder in = r.decoder(arena);
//   ...
//   co_await client.close();
#pragma once

#include <coroutine>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "io/gate.h"
#include "io/op.h"
#include "io/reactor.h"
#include "rpc/call_error.h"
#include "rpc/transport.h"

namespace braid::rpc {

struct ProcedureId {
  std::uint32_t program = 0;
  std::uint32_t version = 0;
  std::uint32_t procedure = 0;
};

struct CallOptions {
  Auth auth{};  // what it refers to must stay until the call ends
  base::Duration timeout = std::chrono::seconds(60);
  ReplyRoom room{};
};

// A reply with results: they start at `offset`.
struct Results {
  io::Payload message;
  std::size_t offset = 0;
  std::vector<io::Payload> apart{};  // eligible items that did not come in the message
  [[nodiscard]] xdr::Decoder decoder(xdr::Arena& arena) const {
    xdr::Decoder in(message, arena, offset);
    in.set_apart(apart);
    return in;
  }
};

template <class T = void>
using CallOp = io::Op<T, CallError>;

// Belongs to one reactor's thread. close() must have ended before it is destroyed. In steady state a call
// allocates nothing but a coroutine frame from the free lists.
class Client final : public Receiver {
 public:
  // `first_xid`: should differ from run to run, so that a server's duplicate-request cache does not take new
  // calls for old ones.
  Client(io::Reactor& reactor, io::SlabPool& pool, std::uint32_t first_xid);
  ~Client() override;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Calls go to this connection, whose receiver is this client. Once, or again after the connection ended.
  void attach(Connection& connection);
  [[nodiscard]] bool connected() const { return connection_ != nullptr; }
  [[nodiscard]] std::size_t outstanding() const { return outstanding_; }

  // `encode(xdr::Encoder&)` writes the arguments; it runs once, when the Op is first awaited.
  template <class Encode>
  CallOp<Results> call(ProcedureId id, CallOptions options, Encode encode) {
    if (connection_ == nullptr) co_return base::fail(CallError::closed);
    xdr::Encoder out(cursor_, connection_->headroom());
    const std::uint32_t xid = next_xid();
    begin_call(out, xid, id, options.auth);
    encode(out);
    if (!out.ok()) co_return base::fail(CallError::no_memory);
    Waiter waiter(*this, xid, options.timeout);
    connection_->call(out.finish(), options.room);
    auto reply = co_await waiter.reply();
    if (!reply) co_return base::fail(reply.error());
    co_return results_of(std::move(*reply));
  }

  // Ends the connection, soon; every outstanding call ends with `closed` then.
  void hang_up();
  // The same. Returns when all is over.
  io::Op<> close();

  bool ready(Connection&) override { return true; }
  void on_message(Connection& connection, io::Payload message, base::TimePoint arrived) override;
  void on_reduced_reply(Connection& connection, io::Payload message, std::vector<io::Payload>&& apart,
                        base::TimePoint arrived) override;
  void on_call_failed(Connection& connection, std::uint32_t xid, CallError error) override;
  void on_sent(Connection&, std::size_t) override {}
  [[nodiscard]] bool idle() const override { return outstanding_ == 0; }
  void on_closed(Connection& connection) override;

 private:
  // One outstanding call; lives in the frame of call().
  class Waiter {
   public:
    Waiter(Client& client, std::uint32_t xid, base::Duration timeout);
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    struct Awaiter {
      Waiter& waiter;
      [[nodiscard]] bool await_ready() const { return waiter.ended_; }
      void await_suspend(std::coroutine_handle<> handle) { waiter.handle_ = handle; }
      base::Result<Results, CallError> await_resume() { return std::move(waiter.outcome_); }
    };
    // co_await waiter.reply(): the reply, or why there is none.
    Awaiter reply() { return {*this}; }

   private:
    friend class Client;
    std::uint32_t xid_;
    base::TimePoint deadline_;
    bool ended_ = false;
    base::Result<Results, CallError> outcome_;
    std::coroutine_handle<> handle_;
  };

  static void begin_call(xdr::Encoder& out, std::uint32_t xid, const ProcedureId& id, const Auth& auth);
  // Finds where the results of a whole reply start.
  static base::Result<Results, CallError> results_of(Results reply);
  std::uint32_t next_xid();
  void insert(Waiter& waiter);
  // Null: nobody waits for this number.
  Waiter* waiter_of(std::uint32_t xid);
  void end(Waiter& waiter, base::Result<Results, CallError> outcome);
  void end_all(CallError error);
  // Ends what is overdue, then sleeps until the next deadline; runs while there are calls.
  io::Op<> watch_deadlines();

  io::Reactor& reactor_;
  io::SlabCursor cursor_;
  Connection* connection_ = nullptr;
  std::uint32_t xid_;
  std::vector<Waiter*> waiters_;  // by xid modulo its size, a power of two
  std::size_t outstanding_ = 0;
  io::Timer timer_;
  base::TimePoint watched_{};  // when the timer fires, if watching_
  bool watching_ = false;
  io::Gate gate_;
  std::coroutine_handle<> close_waiter_;
};

}  // namespace braid::rpc
