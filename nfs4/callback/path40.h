// The connection to a 4.0 client that callbacks go over.
#pragma once

#include <memory>

#include "base/clock.h"
#include "io/op.h"
#include "io/reactor.h"
#include "io/slab.h"
#include "nfs4/callback/answer.h"
#include "nfs4/callback/cb_compound.h"
#include "nfs4/state/clients/client.h"
#include "rpc/client.h"
#include "rpc/tcp_worker.h"

namespace braid::nfs4::callback {

// Belongs to the TcpWorker's thread. Connects when it is first needed, and again after the connection ended.
// close() must have ended before it is destroyed.
class Path40 {
 public:
  Path40(rpc::TcpWorker& tcp, io::SlabPool& pool, state::CallbackAddress to, std::uint32_t first_xid)
      : tcp_(tcp), to_(std::move(to)), client_(tcp.reactor(), pool, first_xid) {}
  Path40(const Path40&) = delete;
  Path40& operator=(const Path40&) = delete;

  [[nodiscard]] const state::CallbackAddress& to() const { return to_; }
  // CB_NULL. After a failure to connect, calls until `retry_after` later fail at once.
  CallbackOp<> null(base::Duration timeout, base::Duration retry_after);
  CallbackOp<Answer> call(Request request, base::Duration timeout, base::Duration retry_after);
  io::Op<> close();

 private:
  CallbackOp<> connect(base::Duration retry_after);
  [[nodiscard]] rpc::ProcedureId procedure(std::uint32_t number) const;

  rpc::TcpWorker& tcp_;
  const state::CallbackAddress to_;
  rpc::Client client_;
  bool connecting_ = false;
  bool closed_ = false;
  base::TimePoint not_before_{};
};

}  // namespace braid::nfs4::callback
