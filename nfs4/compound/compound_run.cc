#include "nfs4/compound/compound_run.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "nfs4/compound/slot_wait.h"
#include "nfs4/options.h"
#include "nfs4/state/clients/session.h"

namespace braid::nfs4 {
namespace {

using enum nfsstat4;

// xid, REPLY, MSG_ACCEPTED, an empty verifier, SUCCESS (RFC 5531 section 9).
constexpr std::size_t rpc_header_bytes = 24;
constexpr std::size_t result_header_bytes = 8;  // number and status
// Of an operation that is not executed: SETATTR has a bitmap with every status (RFC 8881 18.30.2).
constexpr std::size_t error_bytes_max = result_header_bytes + 4;

bool is(const Operation& row, nfs_opnum4 number) { return row.number == number; }

}  // namespace

CompoundRun::CompoundRun(const ServerState& server, const OperationTable& table, OperationMetrics& metrics,
                         rpc::Call& call, rpc::Reply& reply, const COMPOUND4args& head)
    : table_(table),
      metrics_(metrics),
      head_(head),
      compound_(server, call, head.minorversion, head.argarray_count),
      reply_(reply),
      patience_(server.options.recall_patience) {
  begin_reply(head.tag);
}

void CompoundRun::begin_reply(std::string_view tag) {
  out_ = &reply_.begin();
  start_ = out_->size();
  status_blank_ = out_->blank_u32();
  out_->text(tag);
  count_blank_ = out_->blank_u32();
}

// A call that could not be answered has ended its slot all the same.
CompoundRun::~CompoundRun() { end_slot({}); }

const Operation* CompoundRun::next() {
  const bool over = status_ != NFS4_OK || compound_.index_ == head_.argarray_count || compound_.replay;
  if (over || !out_->ok()) return nullptr;
  written_ = false;
  ++result_count_;
  std::uint32_t number = 0;
  const bool decoded = compound_.call().args.u32(number);
  const Operation* row = decoded ? table_.find(number) : nullptr;
  if (row != nullptr && row->minors.first() <= compound_.minor_version()) {
    running_ = row->number;
    return row;
  }
  running_ = nfs_opnum4::OP_ILLEGAL;
  status_ = decoded ? NFS4ERR_OP_ILLEGAL : NFS4ERR_BADXDR;
  put_status(status_);
  return nullptr;
}

void CompoundRun::end(const Operation& row, nfsstat4 status, bool waited) {
  status_ = for_minor(status, compound_.minor_version());
  // RFC 8881 2.10.6.4: not even the answer to SEQUENCE fits, unless it is the tag that is too long.
  if (status_ == NFS4ERR_REP_TOO_BIG && is(row, nfs_opnum4::OP_SEQUENCE) && !written_) begin_reply({});
  // A reply that is known already needs no results.
  if (!written_ && !compound_.replay) {
    put_status(status_);
    if (row.flags.bitmap_with_errors) out_->u32(0);
  }
  if (waited || measured_since_) compound_.began_ = compound_.server().clock.now();
  if (measured_since_) metrics_.measured(row.number, compound_.began_ - *measured_since_);
  if (status_ != NFS4_OK) metrics_.failed(row.number);
  if (rpc::UsageLedger* const usage = compound_.call().usage)
    usage->count(compound_.current().export_number(), metrics_.work_of(row.number), status_ != NFS4_OK);
  ++compound_.index_;
}

io::Op<nfsstat4> CompoundRun::execute(const Operation& row) {
  measured_since_.reset();
  if (metrics_.begin(row.number)) measured_since_ = compound_.server().clock.now();
  const nfsstat4 admitted = admit_operation(row);
  if (admitted != NFS4_OK) return admitted;
  changed_ = changed_ || row.flags.changes;
  compound_.reply_bytes_taken_ = bytes_taken();
  compound_.reply_bytes_left_ = bytes_left(reply_bytes_max(changed_));
  compound_.reply_is_kept_ = reply_is_kept();
  if (!row.flags.looks) compound_.seen_.reset();
  return row.handler(compound_, *this);
}

std::optional<base::Duration> CompoundRun::pause_before_again(const Operation& row, nfsstat4 status) {
  if (!std::exchange(compound_.waits_for_recall_, false) || status != NFS4ERR_DELAY || written_) return {};
  if (compound_.minor_version() == 0 && row.flags.seqid_40) return {};
  const base::Duration pause = std::min(pause_, patience_);
  if (pause <= base::Duration::zero()) return {};
  patience_ -= pause;
  pause_ *= 2;
  return pause;
}

io::Op<nfsstat4> CompoundRun::again(const Operation& row) {
  compound_.seen_.reset();
  return row.handler(compound_, *this);
}

nfsstat4 CompoundRun::admit_operation(const Operation& row) const {
  if (const nfsstat4 placed = admit_place_in_compound(row); placed != NFS4_OK) return placed;
  if (!row.minors.has(compound_.minor_version()) || row.handler == nullptr) return NFS4ERR_NOTSUPP;
  if (wrong_principal(row)) return NFS4ERR_WRONG_CRED;
  if (row.flags.needs_current && !compound_.current()) return NFS4ERR_NOFILEHANDLE;
  if (row.flags.needs_saved && !compound_.saved()) return NFS4ERR_NOFILEHANDLE;
  // What has no body, or fails, has its number and status all the same.
  return row.flags.changes ? admit_change(row) : admit(0);
}

// The reply to a 4.0 COMPOUND that changes something is kept. One that carries bulk data cannot be, and
// without it the change might be made twice: the client is to send it apart.
nfsstat4 CompoundRun::admit_change(const Operation& row) const {
  if (compound_.minor_version() > 0) return admit(row.result_bytes_max);
  if (bytes_taken() + row.result_bytes_max > reply_bytes_max(true)) return NFS4ERR_RESOURCE;
  return compound_.payloads_ > 0 && out_->written().piped() ? NFS4ERR_RESOURCE : NFS4_OK;
}

// RFC 8881 2.10.6.2 and 18.46.3.
nfsstat4 CompoundRun::admit_place_in_compound(const Operation& row) const {
  if (compound_.minor_version() == 0)
    return compound_.operation_count() > compound_.server().options.operations_max ? NFS4ERR_RESOURCE
                                                                                   : NFS4_OK;
  if (compound_.index() > 0) {
    if (compound_.in_session->retry_uncached) return NFS4ERR_RETRY_UNCACHED_REP;
    return is(row, nfs_opnum4::OP_SEQUENCE) ? NFS4ERR_SEQUENCE_POS : NFS4_OK;
  }
  if (is(row, nfs_opnum4::OP_SEQUENCE)) return NFS4_OK;
  if (!row.flags.outside_session) return NFS4ERR_OP_NOT_IN_SESSION;
  return compound_.operation_count() > 1 ? NFS4ERR_NOT_ONLY_OP : NFS4_OK;
}

// RFC 8881 2.10.8.3
bool CompoundRun::wrong_principal(const Operation& row) const {
  if (!compound_.in_session) return false;
  const state::Client& client = *compound_.in_session->session->client;
  if (!client.intro.machine) return false;
  return !client.may_send(static_cast<std::uint32_t>(row.number), state::principal_of(compound_.call().auth));
}

bool CompoundRun::reply_is_kept() const {
  return compound_.in_session ? compound_.in_session->cache_this : changed_ && compound_.minor_version() == 0;
}

// `changes`: something has been changed, or is about to be.
std::size_t CompoundRun::reply_bytes_max(bool changes) const {
  if (compound_.in_session) return compound_.in_session->response_bytes_max;
  const Nfs4Options& options = compound_.server().options;
  if (compound_.minor_version() > 0 || !changes) return options.reply_bytes_max;
  return std::min(options.reply_bytes_max, options.kept_reply_bytes_max);
}

// Of the whole message, with the head of the running operation's result, and with what the operation behind
// it needs to say why it is not executed.
std::size_t CompoundRun::bytes_taken() const {
  const bool last = compound_.index() + 1 == compound_.operation_count();
  return rpc_header_bytes + (out_->size() - start_) + result_header_bytes + (last ? 0 : error_bytes_max);
}

std::size_t CompoundRun::bytes_left(std::size_t message_bytes_max) const {
  return message_bytes_max - std::min(message_bytes_max, bytes_taken());
}

nfsstat4 CompoundRun::admit(std::size_t body_bytes) const {
  const std::size_t bytes = bytes_taken() + body_bytes;
  if (!compound_.in_session) {
    if (bytes <= reply_bytes_max(changed_)) return NFS4_OK;
    return compound_.minor_version() == 0 ? NFS4ERR_RESOURCE : NFS4ERR_REP_TOO_BIG;
  }
  const InSession& session = *compound_.in_session;
  if (bytes > session.response_bytes_max) return NFS4ERR_REP_TOO_BIG;
  if (session.cache_this && bytes > session.cached_response_bytes_max) return NFS4ERR_REP_TOO_BIG_TO_CACHE;
  return NFS4_OK;
}

xdr::Encoder& CompoundRun::begin(nfsstat4 status) {
  put_status(status);
  return *out_;
}

void CompoundRun::put_status(nfsstat4 status) {
  written_ = true;
  encode(*out_, running_);
  encode(*out_, status);
}

rpc::Answer CompoundRun::answer() {
  reply_.worth_keeping = changed_;
  reply_.status = static_cast<std::uint32_t>(status_);
  if (compound_.replay) {
    reply_.begin().opaque_fixed(compound_.replay->view());
    return rpc::Answer::success;
  }
  status_blank_.fill(static_cast<std::uint32_t>(status_));
  count_blank_.fill(result_count_);
  if (!out_->ok()) return rpc::Answer::system_err;
  end_slot(kept_reply());
  return rpc::Answer::success;
}

// Only what was asked for: that fits in what the session's slots may keep (RFC 8881 2.10.6.1.3).
rpc::KeptReply CompoundRun::kept_reply() {
  if (!compound_.in_session || !compound_.in_session->cache_this) return {};
  return rpc::copy_reply(out_->written(), start_);
}

void CompoundRun::end_slot(rpc::KeptReply reply) {
  if (!compound_.in_session) return;
  const InSession session = *std::exchange(compound_.in_session, std::nullopt);
  if (session.retry_uncached) return;  // the slot belongs to the first request
  SlotWait::wake(session.session->finish(session.slot, std::move(reply)));
}

}  // namespace braid::nfs4
