// Takes one COMPOUND through its operations in their order, and encodes the results as they come.
//
//   for (const Operation* row = run.next(); row != nullptr; row = run.next()) {
//     io::Op<nfsstat4> running = run.execute(*row);
//     running.start(call.peer_id);
//     const bool waits = !running.done();
//     nfsstat4 status = co_await std::move(running);
//     ... while run.pause_before_again(*row, status) says so: wait, and status = co_await run.again(*row)
//     run.end(*row, status, waits);
//   }
//   co_return run.answer();
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "io/op.h"
#include "nfs4/compound/compound.h"
#include "nfs4/compound/operation_handler.h"
#include "nfs4/compound/operation_metrics.h"
#include "nfs4/compound/operation_table.h"
#include "rpc/program.h"
#include "xdr/encoder.h"

namespace braid::nfs4 {

// Belongs to the thread of its call. Arguments are decoded one by one: what comes before a malformed
// operation has been executed (RFC 8881 16.2.3). Memory is bounded by the limit of the reply.
class CompoundRun final : private ResultSink {
 public:
  // The call's decoder stands behind `head`. All references outlive this. Begins the reply.
  CompoundRun(const ServerState& server, const OperationTable& table, OperationMetrics& metrics,
              rpc::Call& call, rpc::Reply& reply, const COMPOUND4args& head);
  ~CompoundRun();
  CompoundRun(const CompoundRun&) = delete;
  CompoundRun& operator=(const CompoundRun&) = delete;

  // The row of the operation that is to be executed next; null when none is.
  const Operation* next();
  // Its status; the body of its result has been encoded. It is no coroutine of its own.
  io::Op<nfsstat4> execute(const Operation& row);
  // For how long to wait before again(), if the operation ended because delegations have to come back first.
  // At most Nfs4Options::recall_patience in all, longer each time.
  std::optional<base::Duration> pause_before_again(const Operation& row, nfsstat4 status);
  // execute() once more; the call's decoder stands where it stood then.
  io::Op<nfsstat4> again(const Operation& row);
  // `waited`: time has passed.
  void end(const Operation& row, nfsstat4 status, bool waited);
  // After the last one: completes the reply and ends the slot of the session.
  rpc::Answer answer();

 private:
  void begin_reply(std::string_view tag);
  // Why this operation is not executed; NFS4_OK: it is.
  [[nodiscard]] nfsstat4 admit_operation(const Operation& row) const;
  [[nodiscard]] nfsstat4 admit_place_in_compound(const Operation& row) const;
  [[nodiscard]] nfsstat4 admit_change(const Operation& row) const;
  [[nodiscard]] bool wrong_principal(const Operation& row) const;
  void put_status(nfsstat4 status);
  [[nodiscard]] rpc::KeptReply kept_reply();
  void end_slot(rpc::KeptReply reply);

  [[nodiscard]] nfsstat4 admit(std::size_t body_bytes) const override;
  xdr::Encoder& begin(nfsstat4 status) override;
  // A copy of it: by the slot of the session, or by the duplicate-request cache.
  [[nodiscard]] bool reply_is_kept() const;
  [[nodiscard]] std::size_t reply_bytes_max(bool changes) const;
  [[nodiscard]] std::size_t bytes_taken() const;
  [[nodiscard]] std::size_t bytes_left(std::size_t message_bytes_max) const;

  const OperationTable& table_;
  OperationMetrics& metrics_;
  const COMPOUND4args& head_;
  Compound compound_;
  rpc::Reply& reply_;
  xdr::Encoder* out_ = nullptr;
  std::size_t start_ = 0;  // of COMPOUND4res in out_
  xdr::Encoder::Blank status_blank_;
  xdr::Encoder::Blank count_blank_;
  std::uint32_t result_count_ = 0;
  base::Duration patience_;                              // that is left
  base::Duration pause_ = std::chrono::milliseconds(1);  // before again(), the next time
  std::optional<base::TimePoint> measured_since_;        // the running operation, if its time is measured
  nfsstat4 status_ = nfsstat4::NFS4_OK;
  nfs_opnum4 running_ = nfs_opnum4::OP_ILLEGAL;
  bool written_ = false;  // the running operation's result
  bool changed_ = false;  // something that may not be done twice has been executed
};

}  // namespace braid::nfs4
