// The connection to a 4.0 client that callbacks go over.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "base/clock.h"
#include "io/op.h"
#include "io/reactor.h"
#include "io/slab.h"
#include "nfs4/callback/answer.h"
#include "nfs4/callback/cb_compound.h"
#include "nfs4/state/clients/client.h"
#include "rpc/client.h"
#include "rpc/peer_account.h"
#include "rpc/tcp_worker.h"

namespace braid::nfs4::callback {

// How many connections are being made, in all and to clients at one address, and how soon the next one may
// be: clients at one address may name any others, one after the other. Belongs to one thread.
class Connecting {
 public:
  // After a failure the next one for clients at that address waits so long, twice as long after each further
  // one in a row, and `pause_max` at most.
  static constexpr base::Duration pause = std::chrono::milliseconds(250);
  static constexpr base::Duration pause_max = std::chrono::seconds(16);
  // Of so many addresses failures are known; beyond that, the one that may try soonest is forgotten.
  static constexpr std::size_t peers_max = 1024;

  Connecting(std::size_t all_max, std::size_t peer_max) : all_max_(all_max), peer_max_(peer_max) {}
  // False: there are too many, or it is too early.
  bool begin(const rpc::PeerKey& peer, base::TimePoint now);
  void end(const rpc::PeerKey& peer, bool reached, base::TimePoint now);

 private:
  struct Peer {
    std::size_t connecting = 0;
    base::Duration pause{};        // after the last failure; none: it succeeded
    base::TimePoint not_before{};  // the next one
  };
  void forget_one();

  const std::size_t all_max_, peer_max_;
  std::size_t all_ = 0;
  std::map<rpc::PeerKey, Peer> of_peer_;
};

// Belongs to the TcpWorker's thread. Connects when it is first needed, and again after the connection ended.
// close() must have ended before it is destroyed.
class Path40 {
 public:
  // `peer`: whose share of `connecting` it takes, which outlives it.
  Path40(rpc::TcpWorker& tcp, io::SlabPool& pool, state::CallbackAddress to, const rpc::PeerKey& peer,
         Connecting& connecting, std::uint32_t first_xid)
      : tcp_(tcp),
        to_(std::move(to)),
        peer_(peer),
        all_connecting_(connecting),
        client_(tcp.reactor(), pool, first_xid) {}
  Path40(const Path40&) = delete;
  Path40& operator=(const Path40&) = delete;

  [[nodiscard]] const state::CallbackAddress& to() const { return to_; }
  // CB_NULL. After a failure to connect, calls until `retry_after` later fail at once; after each further one
  // in a row twice as long, retries_max times at most.
  CallbackOp<> null(base::Duration timeout, base::Duration retry_after);
  CallbackOp<Answer> call(Request request, base::Duration timeout, base::Duration retry_after);
  io::Op<> close();

 private:
  static constexpr unsigned retries_max = 4;  // sixteen times as long
  CallbackOp<> connect(base::Duration retry_after);
  [[nodiscard]] rpc::ProcedureId procedure(std::uint32_t number) const;

  rpc::TcpWorker& tcp_;
  const state::CallbackAddress to_;
  const rpc::PeerKey peer_;
  Connecting& all_connecting_;
  rpc::Client client_;
  bool connecting_ = false;
  bool closed_ = false;
  unsigned failures_ = 0;  // in a row
  base::TimePoint not_before_{};
};

}  // namespace braid::nfs4::callback
